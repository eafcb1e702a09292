// Shuffles, votes and reductions whose mask is known at run time, in branches: WARPSYNC SHFL.IDX VOTE.ANY BSSY
#include "rare.cuh"
KERNEL kernel(PARAMS) {
    u32 x = get(in, n, 0), y = get(in, n, 1);
    Chains w(x);
    for (u32 r = 0; r < n >> 18; r++) {
        bool side = (x >> r) & 1;
        u32 mask = __ballot_sync(ALL, side);
        if (!side) mask = ~mask;
        if (side) {
            u32 first = __ffs(mask) - 1;
            u32 v = __shfl_sync(mask, w.a, first);
            w.step(v);
            if (__any_sync(mask, y & 8)) w.b += v;
            w.step(__ballot_sync(mask, w.c & 1));
        } else {
            u32 last = 31 - __clz(mask);
            u32 v = __shfl_sync(mask, w.b, last);
            w.step(v ^ 1);
            w.step(__reduce_add_sync(mask, w.d & 0xffff));
            if (__all_sync(mask, v & 1)) w.c ^= 0x77;
        }
        __syncwarp();
        x = mix(x, __shfl_xor_sync(ALL, w.a, 16));
    }
    out[gid()] = w.end();
}
