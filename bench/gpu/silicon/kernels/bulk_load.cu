// Bulk copies from global memory, several on one barrier and one on each of several: UBLKCP SYNCS.ARRIVE.TRANS64 SYNCS.PHASECHK
#include "async.cuh"
KERNEL kernel(PARAMS) {
    __shared__ u64 bar[3];
    __shared__ __align__(128) u32 s[3][1024];
    u32 x = get(in, n, 0);
    Chains w(x);
    if (tid() < 3) bar_init(&bar[tid()], 1);
    fence_init();
    __syncthreads();
    for (u32 r = 0; r < 4; r++) {
        if (tid() == 0) {
            const u32 *from = in + (blockIdx.x * 4 + r) * 4096;
            bar_expect(&bar[0], 4096);
            for (int k = 0; k < 4; k++) bulk_load(&s[0][k * 256], from + k * 512, 1024, &bar[0]);
            bar_expect(&bar[1], 4096);
            bulk_load(s[1], from + 2048, 4096, &bar[1]);
            // The number of bytes first, the arrival apart.
            asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&bar[2])), "r"(4096 - 16 * r) : "memory");
            bulk_load(s[2], from + 3072, 4096 - 16 * r, &bar[2]);
            bar_arrive(&bar[2]);
        }
        w.step(x);
        bar_wait(&bar[1], r & 1);
        w.step(s[1][(tid() * 5) & 1023] ^ s[1][1023 - tid()]);
        bar_wait(&bar[0], r & 1);
        w.step(s[0][tid()] + s[0][tid() + 256]);
        w.step(s[0][tid() + 512] ^ s[0][tid() + 768]);
        bar_wait(&bar[2], r & 1);
        w.step(s[2][tid() * 3 + 1]);
        x = mix(x, w.a);
        __syncthreads();
    }
    out[gid()] = w.end();
}
