// Bulk prefetches into L2, and bulk copies with a cache policy: UBLKPF UBLKCP
#include "async.cuh"
KERNEL kernel(PARAMS) {
    __shared__ u64 bar;
    __shared__ __align__(128) u32 s[1024];
    u32 x = get(in, n, 0);
    Chains w(x);
    if (tid() == 0) bar_init(&bar, 1);
    fence_init();
    __syncthreads();
    u64 policy;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    for (u32 r = 0; r < 4; r++) {
        const u32 *from = in + (blockIdx.x * 4 + r) * 1024;
        if (tid() == 0) {
            asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(global_address(from + 8192)), "r"(4096) : "memory");
            asm volatile("cp.async.bulk.prefetch.L2.global.L2::cache_hint [%0], %1, %2;" ::"l"(global_address(from + 1024)), "r"(2048 + 16 * r), "l"(policy) : "memory");
            bar_expect(&bar, 4096);
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], 4096, [%2], %3;" ::"r"(shared_address(s)), "l"(global_address(from)),
                         "r"(shared_address(&bar)), "l"(policy)
                         : "memory");
        }
        w.step(in[(x >> 12) & (n - 1)]);
        bar_wait(&bar, r & 1);
        w.step(s[tid()] ^ s[tid() + 256]);
        w.step(s[tid() + 512] ^ s[1023 - tid()]);
        x = mix(x, w.a);
        __syncthreads();
    }
    out[gid()] = w.end();
}
