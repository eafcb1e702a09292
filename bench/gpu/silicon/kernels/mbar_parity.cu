// Barriers waited for by parity, many phases, the predicate used in a branch and in a select: SYNCS.ARRIVE SYNCS.PHASECHK
#include "async.cuh"
KERNEL kernel(PARAMS) {
    __shared__ u64 bar[4];
    __shared__ u32 s[4][256];
    u32 x = get(in, n, 0);
    Chains w(x);
    if (tid() < 4) bar_init(&bar[tid()], 256);
    __syncthreads();
    u32 phase = 0;
    for (u32 r = 0; r < n >> 18; r++) {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            s[k][tid()] = w.a ^ (r + k);
            bar_arrive(&bar[k]);
            w.step(x + k);
            if (!bar_try(&bar[k], phase)) {
                bar_wait(&bar[k], phase);
            }
            bool done = bar_try(&bar[k], phase);  // true by now
            u32 v = s[k][tid() ^ (1 << k) ^ 32];
            w.step(done ? v : ~v);
            x = mix(x, v);
        }
        phase ^= 1;
    }
    out[gid()] = w.end();
}
