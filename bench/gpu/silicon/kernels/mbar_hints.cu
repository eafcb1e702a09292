// Barriers tested by parity, waited for with a time limit, and bytes completed by hand: SYNCS.PHASECHK.TRANS64 SYNCS.PHASECHK.TRANS64.TRYWAIT SYNCS.ARRIVE.TRANS64.RED
#include "async.cuh"
KERNEL kernel(PARAMS) {
    __shared__ u64 bar[2];
    __shared__ u32 s[2][256];
    u32 x = get(in, n, 0);
    Chains w(x);
    if (tid() < 2) bar_init(&bar[tid()], 256);
    fence_init();
    __syncthreads();
    for (u32 r = 0; r < n >> 17; r++) {
        u32 k = r & 1, phase = (r >> 1) & 1, p, a = shared_address(&bar[k]);
        // Each thread expects eight bytes, completes them itself, and arrives.
        asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], 8;" ::"r"(a) : "memory");
        s[k][tid()] = w.a + r;
        asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 8;" ::"r"(a) : "memory");
        w.step(x);
        bar_arrive(&bar[k]);
        if (x & 1) {
            do {
                asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(p) : "r"(a), "r"(phase) : "memory");
            } while (!p);
            w.step(s[k][tid() ^ 200]);
        } else {
            do {
                asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2, 1000; selp.u32 %0, 1, 0, p; }" : "=r"(p) : "r"(a), "r"(phase) : "memory");
            } while (!p);
            w.step(s[k][tid() ^ 33] + 1);
        }
        x = mix(x, w.a);
    }
    out[gid()] = w.end();
}
