// C = A B in FP32: 64x64 tiles in shared memory, 4x4 results per thread in registers.
constexpr int TILE = 64, DEPTH = 16, PER = 4;

extern "C" __global__ void __launch_bounds__(256)
sgemm_tile64(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n, int k) {
    __shared__ float tile_a[DEPTH][TILE + 4], tile_b[DEPTH][TILE];
    const int thread = threadIdx.x, column = thread % 16 * PER, row = thread / 16 * PER;
    const float* from_a = a + (blockIdx.y * TILE + thread / 4) * k + thread % 4 * 4;
    const float* from_b = b + thread / 16 * n + blockIdx.x * TILE + thread % 16 * 4;
    float sum[PER][PER] = {};
    for (int start = 0; start < k; start += DEPTH) {
        const float4 part = *reinterpret_cast<const float4*>(from_a + start);
        const float4 other = *reinterpret_cast<const float4*>(from_b + start * n);
        tile_a[thread % 4 * 4 + 0][thread / 4] = part.x;
        tile_a[thread % 4 * 4 + 1][thread / 4] = part.y;
        tile_a[thread % 4 * 4 + 2][thread / 4] = part.z;
        tile_a[thread % 4 * 4 + 3][thread / 4] = part.w;
        *reinterpret_cast<float4*>(&tile_b[thread / 16][thread % 16 * 4]) = other;
        __syncthreads();
#pragma unroll
        for (int d = 0; d < DEPTH; ++d) {
            const float4 x = *reinterpret_cast<const float4*>(&tile_a[d][row]);
            const float4 y = *reinterpret_cast<const float4*>(&tile_b[d][column]);
            const float left[PER] = {x.x, x.y, x.z, x.w}, right[PER] = {y.x, y.y, y.z, y.w};
#pragma unroll
            for (int i = 0; i < PER; ++i)
#pragma unroll
                for (int j = 0; j < PER; ++j) sum[i][j] = fmaf(left[i], right[j], sum[i][j]);
        }
        __syncthreads();
    }
    for (int i = 0; i < PER; ++i) {
        float* to = c + (blockIdx.y * TILE + row + i) * n + blockIdx.x * TILE + column;
        *reinterpret_cast<float4*>(to) = make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
    }
}
