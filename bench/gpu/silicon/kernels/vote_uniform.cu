// Ballots whose predicate or result is the same for a warp, so that uniform registers take part: VOTEU.ANY VOTE.ANY FLO POPC
#include "rare.cuh"
KERNEL kernel(PARAMS) {
    __shared__ u32 s[8];
    u32 x = get(in, n, 0);
    Chains w(x);
    u32 total = 0;
    for (u32 r = 0; r < 8; r++) {
        u32 b = __ballot_sync(ALL, (x >> r) & 1);
        u32 first = __ffs(b) - 1, count = __popc(b);
        w.step(__shfl_sync(ALL, w.a, first & 31));
        total += count;
        if (lane() == (first & 31)) s[warp()] = count + r;
        __syncwarp();
        w.step(s[warp()]);
        __syncwarp();
        u32 active = __ballot_sync(ALL, true);
        w.b += active;
        u32 even = __ballot_sync(ALL, blockIdx.x & (1u << r));
        w.c ^= even + __brev(b);
        x = rot(x, 11) ^ (count << r);
    }
    out[gid()] = w.end() + total;
}
