// C = A B^T, half in and float out: asynchronous copies into four stages of shared memory, ldmatrix and mma.
// Any m, n even, k a multiple of 32.
#include <cuda_fp16.h>
#include <cuda_pipeline.h>

constexpr int TILE = 128, DEPTH = 32, PITCH = DEPTH + 8, STAGES = 4;

__device__ inline void load_matrix(unsigned (&to)[4], const half* from) {
    const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(from));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(address));
}

__device__ inline void multiply(float (&sum)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

extern "C" __global__ void __launch_bounds__(256)
gemm_async(const half* __restrict__ a, const half* __restrict__ b, float* __restrict__ c, int m, int n, int k) {
    extern __shared__ __align__(16) half stages[];
    half(*tile_a)[TILE][PITCH] = reinterpret_cast<half(*)[TILE][PITCH]>(stages);
    half(*tile_b)[TILE][PITCH] = tile_a + STAGES;
    const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
    const int row0 = blockIdx.y * TILE, column0 = blockIdx.x * TILE, warp_row = warp / 4 * 64, warp_column = warp % 4 * 32;
    const half* from_a[2];
    const half* from_b[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        from_a[i] = a + (long long)min(row0 + thread / 4 + i * 64, m - 1) * k + thread % 4 * 8;
        from_b[i] = b + (long long)min(column0 + thread / 4 + i * 64, n - 1) * k + thread % 4 * 8;
    }
    const auto fetch = [&](int stage, int start) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            __pipeline_memcpy_async(&tile_a[stage][thread / 4 + i * 64][thread % 4 * 8], from_a[i] + start, 16);
            __pipeline_memcpy_async(&tile_b[stage][thread / 4 + i * 64][thread % 4 * 8], from_b[i] + start, 16);
        }
    };
    const int steps = k / DEPTH;
    float sum[4][4][4] = {};
    for (int stage = 0; stage < STAGES - 1; ++stage) {
        if (stage < steps) fetch(stage, stage * DEPTH);
        __pipeline_commit();
    }
    for (int step = 0; step < steps; ++step) {
        __pipeline_wait_prior(STAGES - 2);
        __syncthreads();
        const int ahead = step + STAGES - 1;
        if (ahead < steps) fetch(ahead % STAGES, ahead * DEPTH);
        __pipeline_commit();
        const int stage = step % STAGES;
#pragma unroll
        for (int d = 0; d < DEPTH; d += 16) {
            unsigned left[4][4], right[2][4];
#pragma unroll
            for (int i = 0; i < 4; ++i)
                load_matrix(left[i], &tile_a[stage][warp_row + i * 16 + lane % 16][d + lane / 16 * 8]);
#pragma unroll
            for (int j = 0; j < 2; ++j)
                load_matrix(right[j], &tile_b[stage][warp_column + j * 16 + lane % 16][d + lane / 16 * 8]);
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j) multiply(sum[i][j], left[i], right[j / 2][j % 2], right[j / 2][j % 2 + 2]);
        }
    }
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const int row = row0 + warp_row + i * 16 + lane / 4, column = column0 + warp_column + j * 8 + lane % 4 * 2;
            float* to = c + (long long)row * n + column;
            if (row < m && column < n) *reinterpret_cast<float2*>(to) = make_float2(sum[i][j][0], sum[i][j][1]);
            if (row + 8 < m && column < n)
                *reinterpret_cast<float2*>(to + 8 * (long long)n) = make_float2(sum[i][j][2], sum[i][j][3]);
        }
}
