// Warp-group products of single bits: BGMMA.64x16x256.AND.POPC WARPGROUP.ARRIVE WARPGROUP.DEPBAR
// arch: sm_90a
// registers: no
#include "wgmma.cuh"
DEV void ss(u32 (&d)[8], u64 a, u64 b, u32 add) {
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %10, 0; wgmma.mma_async.sync.aligned.m64n16k256.s32.b1.b1.and.popc " D8 ", %8, %9, p; }" : R8(d, 0) : "l"(a), "l"(b), "r"(add));
}
DEV void rs(u32 (&d)[8], const u32 (&a)[4], u64 b, u32 add) {
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %13, 0; wgmma.mma_async.sync.aligned.m64n16k256.s32.b1.b1.and.popc " D8 ", {%8,%9,%10,%11}, %12, p; }"
                 : R8(d, 0) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
}
KERNEL kernel(PARAMS) {
    __shared__ __align__(128) u32 s[2048];
    u32 x = get(in, n, 0);
    Chains w(x);
    fill(s, 2048, in, n, [](u32 v) { return v; });
    u32 d[8] = {}, e[8] = {};
    for (u32 r = 0; r < n >> 18; r++) {
        u64 a = descriptor(s + 64 * (r & 3)), b = descriptor(s + 1024 + 32 * (r & 7));
        u32 q[4];
#pragma unroll
        for (int k = 0; k < 4; k++) q[k] = get(in, n, r * 4 + k);
        group_fence();
        ss(d, a, b, r & 1);
        rs(e, q, b, 1);
        group_commit();
        w.step(x + r);
        group_wait<0>();
        settle(d);
        settle(e);
        w.step(d[0] ^ e[7]);
        x = mix(x, w.a);
    }
    out[gid()] = w.end() ^ fold(d) ^ fold(e);
}
