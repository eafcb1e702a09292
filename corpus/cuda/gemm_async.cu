// Half-precision gemm: tiles copied to shared memory asynchronously (cp.async), three stages, ldmatrix and mma.sync.
// needs sm_80: cp.async
#include <cuda_fp16.h>
#include <cuda_pipeline.h>

constexpr int TILE = 64, DEPTH = 32, STAGES = 3, PITCH = DEPTH + 8;

__device__ inline unsigned shared_address(const void* pointer) {
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

__device__ inline void load_matrix(unsigned (&to)[4], const half* from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(shared_address(from)));
}

__device__ inline void multiply(float (&sum)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

extern "C" __global__ void __launch_bounds__(128)
gemm_async(const half* __restrict__ a, const half* __restrict__ b, float* __restrict__ c, int n, int k) {
    __shared__ half tile_a[STAGES][TILE][PITCH], tile_b[STAGES][TILE][PITCH];
    const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
    const auto fetch = [&](int stage, int start) {
        for (int i = thread; i < TILE * DEPTH / 8; i += 128) {
            const int row = i / 4, column = i % 4 * 8;
            __pipeline_memcpy_async(&tile_a[stage][row][column], a + (blockIdx.y * TILE + row) * k + start + column, 16);
            __pipeline_memcpy_async(&tile_b[stage][row][column], b + (blockIdx.x * TILE + row) * k + start + column, 16);
        }
    };
    float sum[8][4] = {};
    for (int stage = 0; stage < STAGES - 1; ++stage) {
        fetch(stage, stage * DEPTH);
        __pipeline_commit();
    }
    for (int step = 0; step < k / DEPTH; ++step) {
        __pipeline_wait_prior(STAGES - 2);
        __syncthreads();
        const int ahead = step + STAGES - 1;
        if (ahead < k / DEPTH) fetch(ahead % STAGES, ahead * DEPTH);
        __pipeline_commit();
        const int stage = step % STAGES;
#pragma unroll
        for (int depth = 0; depth < DEPTH; depth += 16) {
            unsigned left[4], right[4];
            load_matrix(left, &tile_a[stage][warp * 16 + lane % 16][depth + lane / 16 * 8]);
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                load_matrix(right, &tile_b[stage][j * 16 + lane % 16][depth + lane / 16 * 8]);
                multiply(sum[2 * j], left, right[0], right[2]);
                multiply(sum[2 * j + 1], left, right[1], right[3]);
            }
        }
    }
    const int row = blockIdx.y * TILE + warp * 16 + lane / 4;
    for (int j = 0; j < 8; ++j) {
        float* to = c + row * n + blockIdx.x * TILE + j * 8 + lane % 4 * 2;
        *reinterpret_cast<float2*>(to) = make_float2(sum[j][0], sum[j][1]);
        *reinterpret_cast<float2*>(to + 8 * n) = make_float2(sum[j][2], sum[j][3]);
    }
}
