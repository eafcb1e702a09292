// Atomics with and without results in other blocks' shared memory: ATOM.E.ADD ATOM.E.EXCH ATOM.E.CAS ATOM.E.MAX SR_SWINHI UCGABAR_ARV UCGABAR_WAIT
// launch: grid=8 block=256 cluster=4
#include "async.cuh"
KERNEL __cluster_dims__(4, 1, 1) kernel(PARAMS) {
    __shared__ u32 bins[64];
    __shared__ u32 own[256];
    u32 x = get(in, n, 0), me = cluster_rank();
    Chains w(x);
    if (tid() < 64) bins[tid()] = 0;
    own[tid()] = x;
    cluster_sync();
#pragma unroll
    for (int k = 0; k < 4; k++) {
        u32 rank = (x >> (k * 2)) & 3;
        u32 a = map(&bins[(x >> 8 >> k) & 63], rank);
        asm volatile("red.relaxed.cluster.shared::cluster.add.u32 [%0], %1;" ::"r"(a), "r"((x & 15) + k) : "memory");
        // Nobody else touches this word in this round.
        u32 b = map(&own[tid()], (me + k) & 3), old;
        asm volatile("atom.relaxed.cluster.shared::cluster.add.u32 %0, [%1], %2;" : "=r"(old) : "r"(b), "r"(w.a) : "memory");
        w.step(old);
        asm volatile("atom.relaxed.cluster.shared::cluster.exch.b32 %0, [%1], %2;" : "=r"(old) : "r"(b), "r"(w.b) : "memory");
        w.step(old);
        asm volatile("atom.relaxed.cluster.shared::cluster.cas.b32 %0, [%1], %2, %3;" : "=r"(old) : "r"(b), "r"(w.b), "r"(w.c) : "memory");
        w.step(old);
        asm volatile("atom.relaxed.cluster.shared::cluster.max.u32 %0, [%1], %2;" : "=r"(old) : "r"(b), "r"(x) : "memory");
        if (old > x) w.d += old;
        cluster_sync();
    }
    w.step(bins[tid() & 63]);
    w.step(own[tid()]);
    out[gid()] = w.end();
}
