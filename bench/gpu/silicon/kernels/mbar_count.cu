// Arrivals that count for several, that must not complete, and that drop out: SYNCS.ARRIVE
#include "async.cuh"
KERNEL kernel(PARAMS) {
    __shared__ u64 bar, drop;
    __shared__ u32 s[256], t[128];
    u32 x = get(in, n, 0);
    Chains w(x);
    if (tid() == 0) {
        bar_init(&bar, 256 + 256 + 64);
        bar_init(&drop, 256);
    }
    __syncthreads();
    for (u32 r = 0; r < 4; r++) {
        s[tid()] = w.a + r;
        u64 state;
        // The first does not complete the phase: each thread's second is still to come.
        asm volatile("mbarrier.arrive.noComplete.shared::cta.b64 %0, [%1], 1;" : "=l"(state) : "r"(shared_address(&bar)) : "memory");
        w.step(x);
        if (tid() < 32) {
            asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1], 3;" : "=l"(state) : "r"(shared_address(&bar)) : "memory");
        } else {
            state = bar_arrive(&bar);
        }
        while (!bar_test(&bar, state)) {}
        u32 v = s[(tid() + 5) & 255];
        w.step(v);
        __syncthreads();
        x = mix(x, v);
    }
    // Half of the threads drop out, the rest go on.
    s[tid()] = w.a;
    u64 state;
    if (tid() >= 128) {
        asm volatile("mbarrier.arrive_drop.shared::cta.b64 %0, [%1];" : "=l"(state) : "r"(shared_address(&drop)) : "memory");
    } else {
        state = bar_arrive(&drop);
    }
    while (!bar_test(&drop, state)) {}
    w.step(s[tid() ^ 129]);
    if (tid() < 128) {
        state = bar_arrive(&drop);
        w.step(x);
        while (!bar_test(&drop, state)) {}
        t[tid()] = w.b;
        state = bar_arrive(&drop);
        while (!bar_test(&drop, state)) {}
        w.step(t[tid() ^ 3]);
    }
    out[gid()] = w.end();
}
