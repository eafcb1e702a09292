// A wide warp-group product, 64 by 128, whose sums are used while the next is under way: HGMMA.64x128x16.F32 WARPGROUP.DEPBAR
// arch: sm_90a
// registers: no
// launch: grid=8 block=128
#include "wgmma.cuh"
DEV void ss(float (&d)[64], u64 a, u64 b, u32 add) {
    asm volatile(
        "{ .reg .pred p; setp.ne.u32 p, %66, 0; wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 "
        "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,"
        "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63}, "
        "%64, %65, p, 1, 1, 0, 0; }"
        : F32S(d, 0), F32S(d, 32) : "l"(a), "l"(b), "r"(add));
}
KERNEL kernel(PARAMS) {
    __shared__ __align__(128) u32 s[4096];
    u32 x = get(in, n, 0);
    Chains w(x);
    fill(s, 4096, in, n, to_f16);
    float d[64] = {}, e[64] = {};
    u64 a = descriptor(s), b = descriptor(s + 2048);
    for (u32 r = 0; r < n >> 18; r++) {
        group_fence();
        ss(d, a + 16, b + 8 * r, r);
        group_commit();
        ss(e, a + 8 * r, b + 8, 1);
        group_commit();
        w.step(x + r);
        group_wait<1>();
        settle(d);
        w.step(fold(d));
        group_wait<0>();
        settle(e);
        w.step(bits(e[63]));
        x = mix(x, w.a);
    }
    out[gid()] = w.end() ^ fold(d) ^ fold(e);
}
