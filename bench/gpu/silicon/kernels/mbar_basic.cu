// Barriers in shared memory: arrive, test with the state, pending count: SYNCS.EXCH SYNCS.ARRIVE SYNCS.PHASECHK
#include "async.cuh"
KERNEL kernel(PARAMS) {
    __shared__ u64 bar[2];
    __shared__ u32 s[2][256];
    u32 x = get(in, n, 0);
    Chains w(x);
    if (tid() == 0) {
        bar_init(&bar[0], 256);
        bar_init(&bar[1], 256);
    }
    __syncthreads();
    for (u32 r = 0; r < n >> 17; r++) {
        u32 k = r & 1;
        s[k][tid()] = w.a + r;
        u64 state = bar_arrive(&bar[k]);
        w.step(x);
        w.step(in[(x >> 12) & (n - 1)]);
        while (!bar_test(&bar[k], state)) {}
        u32 v = s[k][(tid() * 11 + r) & 255];
        w.step(v);
        x = mix(x, v);
    }
    __syncthreads();
    if (tid() == 0) {
        bar_inval(&bar[0]);
        bar_init(&bar[0], 7);  // another use
        u64 state = bar_arrive(&bar[0]);
        u32 pending;
        asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(pending) : "l"(state));
        w.step(pending);
        state = bar_arrive(&bar[0]);
        asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(pending) : "l"(state));
        w.step(pending);
    }
    out[gid()] = w.end();
}
