// Tensor memory: allocation, a multiplication that reads shared memory, the result loaded back.
// only sm_100a sm_103a: tcgen05
#include <cuda_fp16.h>
#include <cstdint>

constexpr int M = 128, N = 64, K = 64;

__device__ inline unsigned shared_address(const void* pointer) {
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

__device__ inline uint64_t descriptor(const void* tile) {
    return (shared_address(tile) & 0x3ffff) >> 4 | 1ull << 16 | 64ull << 32 | 1ull << 46 | 2ull << 61;
}

extern "C" __global__ void __launch_bounds__(128)
tcgen05_gemm(const uint4* __restrict__ a, const uint4* __restrict__ b, float* __restrict__ c, int steps) {
    __shared__ alignas(1024) half tile_a[M * K], tile_b[N * K];
    __shared__ alignas(8) uint64_t barrier;
    __shared__ unsigned tensor_base;
    if (threadIdx.x < 32) {
        asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 64;" ::"r"(shared_address(&tensor_base)));
        asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
    }
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&barrier)));
    __syncthreads();
    const unsigned base = tensor_base, instruction = 1u << 4 | N / 8 << 17 | M / 16 << 24;
    for (int step = 0; step < steps; ++step) {
        for (int i = threadIdx.x; i < M * K / 8; i += 128)
            reinterpret_cast<uint4*>(tile_a)[i ^ i / 8 % 8] = a[step * M * K / 8 + i];
        for (int i = threadIdx.x; i < N * K / 8; i += 128)
            reinterpret_cast<uint4*>(tile_b)[i ^ i / 8 % 8] = b[step * N * K / 8 + i];
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        if (threadIdx.x == 0) {
            for (int k = 0; k < K / 16; ++k)
                asm volatile("{\n.reg .pred add;\nsetp.ne.u32 add, %4, 0;\n"
                             "tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, add;\n}" ::"r"(base),
                             "l"(descriptor(tile_a + 16 * k)), "l"(descriptor(tile_b + 16 * k)), "r"(instruction),
                             "r"(step + k)
                             : "memory");
            asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(
                             shared_address(&barrier))
                         : "memory");
        }
        asm volatile("{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                     "@!done bra again;\n}" ::"r"(shared_address(&barrier)),
                     "r"(step % 2)
                     : "memory");
    }
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
    for (int column = 0; column < N; column += 8) {
        unsigned d[8];
        asm volatile("tcgen05.ld.sync.aligned.32x32b.x8.b32 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8];"
                     : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]), "=r"(d[4]), "=r"(d[5]), "=r"(d[6]), "=r"(d[7])
                     : "r"(base + (threadIdx.x / 32 * 32 << 16) + column));
        asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
        for (int i = 0; i < 8; ++i) c[threadIdx.x * N + column + i] = __uint_as_float(d[i]);
    }
    __syncthreads();
    if (threadIdx.x < 32) asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 64;" ::"r"(base));
}
