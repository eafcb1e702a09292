// Reductions, votes and first lanes as loop bounds, addresses and branches of a whole warp: REDUX REDUX.SUM.S32 REDUX.MIN REDUX.MAX VOTE.ANY SHFL.IDX
#include "rare.cuh"
KERNEL kernel(PARAMS) {
    u32 x = get(in, n, 0), y = get(in, n, 1);
    Chains w(x);
    for (u32 r = 0; r < n >> 18; r++) {
        u32 low = __reduce_min_sync(ALL, x >> 28), high = __reduce_max_sync(ALL, y >> 29);
        for (u32 k = low; k <= high; k++) w.step(in[(__reduce_xor_sync(ALL, w.a) + k) & (n - 1)]);
        u32 b = __ballot_sync(ALL, w.b & 1);
        if (__popc(b) & 1) {
            w.step(in[b >> 12]);
            b ^= __reduce_or_sync(ALL, w.c & 0x01010101u & y);
        }
        while (b & 0xff) {
            u32 first = __ffs(b) - 1;
            w.step(__shfl_sync(ALL, w.d, first));
            b &= b - 1;
        }
        x = mix(x, __reduce_add_sync(ALL, w.a));
        y = mix(y, __reduce_and_sync(ALL, w.b | x));
    }
    out[gid()] = w.end();
}
