// C = A B in FP32, row major: 64x64 tiles, depth 16, 4x4 results per thread, one buffer in shared memory.
// Any m, n a multiple of 4, k of 16.
constexpr int TILE = 64, DEPTH = 16;

extern "C" __global__ void __launch_bounds__(256)
sgemm64(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int m, int n, int k) {
    __shared__ __align__(16) float tile_a[DEPTH][TILE + 4], tile_b[DEPTH][TILE];
    const int thread = threadIdx.x, tx = thread % 16 * 4, ty = thread / 16 * 4;
    const int row0 = blockIdx.y * TILE, column0 = blockIdx.x * TILE;
    const float* from_a = a + (long long)min(row0 + thread / 4, m - 1) * k + thread % 4 * 4;
    const float* from_b = b + (long long)(thread / 16) * n + min(column0 + tx, n - 4);
    float sum[4][4] = {};
    for (int start = 0; start < k; start += DEPTH) {
        const float4 part_a = *reinterpret_cast<const float4*>(from_a);
        const float4 part_b = *reinterpret_cast<const float4*>(from_b);
        from_a += DEPTH;
        from_b += (long long)DEPTH * n;
        tile_a[thread % 4 * 4 + 0][thread / 4] = part_a.x;
        tile_a[thread % 4 * 4 + 1][thread / 4] = part_a.y;
        tile_a[thread % 4 * 4 + 2][thread / 4] = part_a.z;
        tile_a[thread % 4 * 4 + 3][thread / 4] = part_a.w;
        *reinterpret_cast<float4*>(&tile_b[thread / 16][tx]) = part_b;
        __syncthreads();
#pragma unroll
        for (int d = 0; d < DEPTH; ++d) {
            const float4 x = *reinterpret_cast<const float4*>(&tile_a[d][ty]);
            const float4 y = *reinterpret_cast<const float4*>(&tile_b[d][tx]);
            const float left[4] = {x.x, x.y, x.z, x.w}, right[4] = {y.x, y.y, y.z, y.w};
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j) sum[i][j] = fmaf(left[i], right[j], sum[i][j]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; ++i)
        if (row0 + ty + i < m && column0 + tx < n)
            *reinterpret_cast<float4*>(&c[(long long)(row0 + ty + i) * n + column0 + tx]) =
                make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
}
