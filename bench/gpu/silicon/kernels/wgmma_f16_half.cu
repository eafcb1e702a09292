// Warp-group products of halves with half sums, rows in registers: HGMMA.64x16x16.F16 WARPGROUP.ARRIVE WARPGROUP.DEPBAR
// arch: sm_90a
// registers: no
#include "wgmma.cuh"
DEV void ss(u32 (&d)[4], u64 a, u64 b, u32 add) {
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %6, 0; wgmma.mma_async.sync.aligned.m64n16k16.f16.f16.f16 " D4 ", %4, %5, p, 1, 1, 0, 0; }" : R4(d, 0) : "l"(a), "l"(b), "r"(add));
}
DEV void rs(u32 (&d)[4], const u32 (&a)[4], u64 b, u32 add) {
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %9, 0; wgmma.mma_async.sync.aligned.m64n16k16.f16.f16.f16 " D4 ", {%4,%5,%6,%7}, %8, p, 1, 1, 1; }"
                 : R4(d, 0) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
}
KERNEL kernel(PARAMS) {
    __shared__ __align__(128) u32 s[2][1024];
    u32 x = get(in, n, 0);
    Chains w(x);
    fill(&s[0][0], 2048, in, n, to_f16);
    u32 d[4] = {}, e[4] = {};
    for (u32 r = 0; r < n >> 18; r++) {
        u64 a = descriptor(s[0] + 64 * (r & 3)), b = descriptor(s[1] + 32 * (r & 7));
        u32 q[4];
#pragma unroll
        for (int k = 0; k < 4; k++) q[k] = to_f16(get(in, n, r * 4 + k));
        group_fence();
        ss(d, a, b, r != 0);
        rs(e, q, b, 0);
        group_commit();
        w.step(x + r);
        group_wait<0>();
        settle(d);
        settle(e);
        w.step(d[0] ^ e[3]);
        x = mix(x, w.a);
#pragma unroll
        for (int k = 0; k < 4; k++) d[k] = to_f16(d[k]);
    }
    out[gid()] = w.end() ^ fold(d) ^ fold(e);
}
