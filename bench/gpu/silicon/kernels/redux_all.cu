// Warp reductions by every operation, back to back, results used at once and in uniform code: REDUX.SUM REDUX.MIN REDUX.MAX REDUX.OR REDUX.XOR REDUX.S32
#include "rare.cuh"
KERNEL kernel(PARAMS) {
    u32 x = get(in, n, 0), y = get(in, n, 1);
    Chains w(x);
    for (u32 r = 0; r < n >> 18; r++) {
        u32 a = __reduce_add_sync(ALL, x);
        int b = __reduce_add_sync(ALL, (int)y >> 3);
        u32 c = __reduce_min_sync(ALL, x ^ r);
        u32 d = __reduce_max_sync(ALL, y ^ r);
        int e = __reduce_min_sync(ALL, (int)(x + y));
        int f = __reduce_max_sync(ALL, (int)(x - y));
        u32 g = __reduce_and_sync(ALL, x | 0x00ff00ffu << r);
        u32 h = __reduce_or_sync(ALL, y & 0x0f0f0f0fu & x & rot(x, 5) & rot(y, 9) & rot(x, 13));
        u32 i = __reduce_xor_sync(ALL, x * 3);
        w.step(a + c);
        w.step((u32)b ^ d);
        w.step((u32)e + (u32)f);
        w.step(g ^ rot(h, 3));
        if (i & 1) w.a += i;
        w.b = e < f && (a & 4) ? w.b + c : w.b ^ d;
        w.c += __reduce_add_sync(ALL, __reduce_xor_sync(ALL, w.c) + lane());  // one after the other
        x = mix(x, i);
        y = mix(y, g + (u32)b);
    }
    out[gid()] = w.end();
}
