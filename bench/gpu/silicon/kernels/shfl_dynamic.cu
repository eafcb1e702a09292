// Shuffles whose lane and clamp come from registers, of 64-bit values and floats: SHFL.IDX SHFL.UP SHFL.BFLY
#include "rare.cuh"
DEV u32 idx(u32 x, u32 k, u32 clamp, u32 &p) {
    u32 v;
    asm volatile("{ .reg .pred p; shfl.sync.idx.b32 %0|p, %2, %3, %4, 0xffffffff; selp.u32 %1, 1, 0, p; }" : "=r"(v), "=r"(p) : "r"(x), "r"(k), "r"(clamp));
    return v;
}
KERNEL kernel(PARAMS) {
    u32 x = get(in, n, 0), y = get(in, n, 1);
    Chains w(x);
    u64 q = ((u64)x << 32) | y;
    double g = (double)(x & 0xffff);
    for (u32 r = 0; r < n >> 17; r++) {
        u32 width = 1u << ((r % 5) + 1), clamp = ((32 - width) << 8) | 31, p;
        u32 a = idx(x, y >> 3, clamp, p);
        w.step(a);
        w.a += p;
        q += __shfl_xor_sync(ALL, q, 1 + (r & 15));
        g = g * 0.5 + __shfl_up_sync(ALL, g, 1 + (r & 7));
        w.f += __shfl_down_sync(ALL, w.f, 1 + r) * 0.25f;
        u32 b = __shfl_sync(ALL, a, a & 31);  // one after the other
        b = __shfl_sync(ALL, b, b & 31);
        w.step(b);
        x = mix(x, b);
        y = mix(y, (u32)(q >> 20));
    }
    out[gid()] = w.end() ^ (u32)q ^ (u32)__double_as_longlong(g);
}
