// Bulk copies and tensor-map loads that complete on an mbarrier, double buffered, and a bulk store back.
// needs sm_90: bulk copies
#include <cstdint>

__device__ inline unsigned shared_address(const void* pointer) {
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

__device__ inline void arrive_expecting(uint64_t* barrier, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
                 : "memory");
}

__device__ inline void wait(uint64_t* barrier, unsigned phase) {
    asm volatile(
        "{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra again;\n}" ::"r"(
            shared_address(barrier)),
        "r"(phase)
        : "memory");
}

constexpr int CHUNK = 1024;

extern "C" __global__ void bulk_copy(const float* __restrict__ in, float* __restrict__ out, int chunks, float factor) {
    __shared__ alignas(128) float buffer[2][CHUNK];
    __shared__ alignas(128) float result[CHUNK];
    __shared__ alignas(8) uint64_t barrier[2];
    const auto fetch = [&](int chunk) {
        arrive_expecting(&barrier[chunk % 2], sizeof buffer[0]);
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                         shared_address(buffer[chunk % 2])),
                     "l"(in + chunk * CHUNK), "r"((unsigned)sizeof buffer[0]), "r"(shared_address(&barrier[chunk % 2]))
                     : "memory");
    };
    if (threadIdx.x == 0) {
        for (auto& one : barrier) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&one)));
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        fetch(0);
    }
    __syncthreads();
    for (int chunk = 0; chunk < chunks; ++chunk) {
        if (threadIdx.x == 0 && chunk + 1 < chunks) fetch(chunk + 1);
        wait(&barrier[chunk % 2], chunk / 2 % 2);
        for (int i = threadIdx.x; i < CHUNK; i += blockDim.x) result[i] = buffer[chunk % 2][i] * factor;
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        if (threadIdx.x == 0) {
            asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(out + chunk * CHUNK),
                         "r"(shared_address(result)), "r"((unsigned)sizeof result)
                         : "memory");
            asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;" ::: "memory");
        }
        __syncthreads();
    }
}

extern "C" __global__ void tensor_copy(const void* __restrict__ map, float* __restrict__ out, int x, int y) {
    __shared__ alignas(128) float tile[32][32];
    __shared__ alignas(8) uint64_t barrier;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&barrier)));
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        arrive_expecting(&barrier, sizeof tile);
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
                         shared_address(tile)),
                     "l"(map), "r"(x), "r"(y), "r"(shared_address(&barrier))
                     : "memory");
    }
    __syncthreads();
    wait(&barrier, 0);
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) out[i] = tile[i % 32][i / 32];
}
