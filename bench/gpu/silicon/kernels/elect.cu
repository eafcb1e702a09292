// One lane elected, its number and its predicate used at once, in branches and loops: ELECT
#include "rare.cuh"
DEV bool elect(u32 mask, u32 &leader) {
    u32 p;
    asm volatile("{ .reg .pred p; elect.sync %0|p, %2; selp.u32 %1, 1, 0, p; }" : "=r"(leader), "=r"(p) : "r"(mask));
    return p;
}
KERNEL kernel(PARAMS) {
    __shared__ u32 s[256];
    u32 x = get(in, n, 0), y = get(in, n, 1);
    Chains w(x);
    for (u32 r = 0; r < n >> 18; r++) {
        u32 l1, l2, l3;
        bool a = elect(ALL, l1);
        // The lane elected is the same for the same mask; which one it is must not matter here.
        if (a) s[warp()] = blockIdx.x * 77 + warp() + r;
        __syncwarp();
        w.step(s[warp()]);
        w.step(__popc(__ballot_sync(ALL, a)));
        bool b = elect(ALL, l2);
        w.a += (l1 == l2) + 2 * (a == b);
        w.b += __shfl_sync(ALL, (u32)a, l1);
        u32 mask = __ballot_sync(ALL, x & 1);
        if (x & 1) {
            bool c = elect(mask, l3);
            if (c) s[32 + warp()] = r * 13 + 1;
            __syncwarp(mask);
            w.step(s[32 + warp()] + ((mask >> l3) & 1));
        }
        __syncwarp();
        x = mix(x, w.c);
        y ^= w.d;
    }
    out[gid()] = w.end() ^ y;
}
