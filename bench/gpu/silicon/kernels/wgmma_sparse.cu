// Sparse warp-group products of halves and, from registers, of bfloat16: HGMMA.SP.64x16x32.F32 HGMMA.SP.64x16x32.F32.BF16
// arch: sm_90a
// registers: no
#include "wgmma.cuh"
DEV void f16(float (&d)[8], u64 a, u64 b, u32 m, u32 add) {
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %11, 0; wgmma.mma_async.sp.sync.aligned.m64n16k32.f32.f16.f16 " D8 ", %8, %9, %10, 0, p, 1, 1, 0, 0; }" : F8(d, 0) : "l"(a), "l"(b), "r"(m), "r"(add));
}
DEV void bf16(float (&d)[8], const u32 (&a)[4], u64 b, u32 m, u32 add) {
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %14, 0; wgmma.mma_async.sp.sync.aligned.m64n16k32.f32.bf16.bf16 " D8 ", {%8,%9,%10,%11}, %12, %13, 0, p, 1, 1, 0; }"
                 : F8(d, 0) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(m), "r"(add));
}
DEV u32 pairs(u32 x) {  // in rising order
    u32 m = 0;
#pragma unroll
    for (int k = 0; k < 8; k++) {
        u32 c = (x >> (3 * k)) & 7;
        m |= ((0xed9c84u >> (4 * (c < 6 ? c : 0))) & 15) << (4 * k);
    }
    return m;
}
KERNEL kernel(PARAMS) {
    __shared__ __align__(128) u32 s[4096];
    u32 x = get(in, n, 0);
    Chains w(x);
    fill(s, 4096, in, n, to_f16);
    float d[8] = {}, e[8] = {};
    for (u32 r = 0; r < n >> 18; r++) {
        u64 a = descriptor(s + 64 * (r & 3)), b = descriptor(s + 2048 + 64 * (r & 3));
        u32 m = pairs(get(in, n, r + 1)), q = pairs(w.a);
        u32 c[4];
#pragma unroll
        for (int k = 0; k < 4; k++) c[k] = to_bf16(get(in, n, r * 4 + k));
        group_fence();
        f16(d, a, b, m, 1);
        bf16(e, c, b, q, r);
        group_commit();
        w.step(x + r);
        group_wait<0>();
        settle(d);
        settle(e);
        w.step(bits(d[0]) ^ bits(e[7]));
        x = mix(x, w.a);
    }
    out[gid()] = w.end() ^ fold(d) ^ fold(e);
}
