// Warp reductions over some lanes, in branches, and a reduction of the block from them: REDUX.SUM.S32 REDUX.MAX REDUX.MIN REDUX.OR REDUX.XOR WARPSYNC WARPSYNC.COLLECTIVE BRA.DIV
#include "rare.cuh"
KERNEL kernel(PARAMS) {
    __shared__ u32 s[8];
    u32 x = get(in, n, 0), y = get(in, n, 1);
    Chains w(x);
    for (u32 r = 0; r < n >> 18; r++) {
        u32 v;
        if (lane() < 12) {
            v = __reduce_add_sync(0x00000fffu, x & 0xffff);
            w.step(v);
            v ^= __reduce_max_sync(0x00000fffu, w.a);
        } else if (lane() & 1) {
            v = __reduce_xor_sync(0xaaaaa000u, y);
            w.step(v);
        } else {
            v = __reduce_min_sync(0x55555000u, x ^ y);
            w.step(v + __reduce_or_sync(0x55555000u, y & x & rot(x, 7)));
        }
        __syncwarp();
        u32 t = __reduce_xor_sync(ALL, v + w.b);
        if (lane() == 0) s[warp()] = t;
        __syncthreads();
        if (lane() < 8) w.step(__reduce_add_sync(0xff, s[lane()]));
        __syncthreads();
        x = mix(x, t);
        y = mix(y, w.a);
    }
    out[gid()] = w.end();
}
