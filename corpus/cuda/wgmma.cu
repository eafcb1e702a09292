// A warpgroup multiplies 64x64 tiles of half-precision shared memory with wgmma.
// only sm_90a: wgmma
#include <cuda_fp16.h>
#include <cstdint>

constexpr int M = 64, N = 64, K = 64;

/// Describes a tile of rows of 128 bytes, swizzled.
__device__ inline uint64_t descriptor(const void* tile) {
    const uint64_t address = __cvta_generic_to_shared(tile);
    return (address & 0x3ffff) >> 4 | 1ull << 16 | 64ull << 32 | 1ull << 62;
}

extern "C" __global__ void __launch_bounds__(128)
wgmma_gemm(const half* __restrict__ a, const half* __restrict__ b, float* __restrict__ c, int steps) {
    __shared__ alignas(1024) half tile_a[M * K], tile_b[N * K];
    float d[32] = {};
    for (int step = 0; step < steps; ++step) {
        for (int i = threadIdx.x; i < M * K / 8; i += 128) {
            const int row = i / 8, column = (i % 8 ^ row % 8) * 8;
            reinterpret_cast<uint4*>(tile_a)[row * 8 + column / 8] = reinterpret_cast<const uint4*>(a)[step * 512 + i];
            reinterpret_cast<uint4*>(tile_b)[row * 8 + column / 8] = reinterpret_cast<const uint4*>(b)[step * 512 + i];
        }
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int k = 0; k < K / 16; ++k)
            asm volatile(
                "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
                "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"
                "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, %32, %33, 1, 1, 1, 0, 0;"
                : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
                  "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
                  "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
                  "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
                : "l"(descriptor(tile_a + 16 * k)), "l"(descriptor(tile_b + 16 * k)));
        asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
        __syncthreads();
    }
    const int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + lane / 4;
    for (int j = 0; j < 8; ++j) {
        float* to = c + row * N + 8 * j + lane % 4 * 2;
        *reinterpret_cast<float2*>(to) = make_float2(d[4 * j], d[4 * j + 1]);
        *reinterpret_cast<float2*>(to + 8 * N) = make_float2(d[4 * j + 2], d[4 * j + 3]);
    }
}
