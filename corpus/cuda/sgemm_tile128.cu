// C = alpha A B + beta C in FP32: 128x128 tiles, 8x8 results per thread, the next tile loaded while this one is used.
constexpr int TILE = 128, DEPTH = 8, PER = 8;

__device__ inline void load4(float (&to)[4], const float* from) {
    const float4 part = *reinterpret_cast<const float4*>(from);
    to[0] = part.x, to[1] = part.y, to[2] = part.z, to[3] = part.w;
}

extern "C" __global__ void __launch_bounds__(256, 2)
sgemm_tile128(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n, int k, float alpha,
              float beta) {
    __shared__ float tile_a[2][DEPTH][TILE], tile_b[2][DEPTH][TILE];
    const int thread = threadIdx.x, column = thread % 16 * PER, row = thread / 16 * PER;
    const float* from_a = a + (blockIdx.y * TILE + thread / 2) * k + thread % 2 * 4;
    const float* from_b = b + thread / 32 * n + blockIdx.x * TILE + thread % 32 * 4;
    float next_a[4], next_b[4], sum[PER][PER] = {};
    const auto store = [&](int buffer) {
        for (int i = 0; i < 4; ++i) tile_a[buffer][thread % 2 * 4 + i][thread / 2] = next_a[i];
        for (int i = 0; i < 4; ++i) tile_b[buffer][thread / 32][thread % 32 * 4 + i] = next_b[i];
    };
    load4(next_a, from_a);
    load4(next_b, from_b);
    store(0);
    __syncthreads();
    for (int start = DEPTH, buffer = 0;; start += DEPTH, buffer ^= 1) {
        const bool more = start < k;
        if (more) {
            load4(next_a, from_a + start);
            load4(next_b, from_b + start * n);
        }
#pragma unroll
        for (int d = 0; d < DEPTH; ++d) {
            float left[PER], right[PER];
            for (int i = 0; i < PER; ++i) left[i] = tile_a[buffer][d][row + i];
            for (int j = 0; j < PER; ++j) right[j] = tile_b[buffer][d][column + j];
#pragma unroll
            for (int i = 0; i < PER; ++i)
#pragma unroll
                for (int j = 0; j < PER; ++j) sum[i][j] = fmaf(left[i], right[j], sum[i][j]);
        }
        if (!more) break;
        store(buffer ^ 1);
        __syncthreads();
    }
    for (int i = 0; i < PER; ++i)
        for (int j = 0; j < PER; ++j) {
            float* to = c + (blockIdx.y * TILE + row + i) * n + blockIdx.x * TILE + column + j;
            *to = alpha * sum[i][j] + beta * *to;
        }
}
