// Warp-group products of bfloat16 with rows in registers that are written anew between: HGMMA.64x32x16.F32.BF16 WARPGROUP.ARRIVE WARPGROUP.DEPBAR
// arch: sm_90a
// registers: no
#include "wgmma.cuh"
DEV void rs(float (&d)[16], const u32 (&a)[4], u64 b, u32 add) {
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %21, 0; wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 " D16 ", {%16,%17,%18,%19}, %20, p, 1, 1, 0; }"
                 : F16(d) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
}
KERNEL kernel(PARAMS) {
    __shared__ __align__(128) u32 s[2048];
    u32 x = get(in, n, 0);
    Chains w(x);
    fill(s, 2048, in, n, to_bf16);
    float d[16] = {}, e[16] = {};
    u32 a[4], c[4];
#pragma unroll
    for (int k = 0; k < 4; k++) a[k] = to_bf16(get(in, n, k)), c[k] = to_bf16(get(in, n, k + 4));
    for (u32 r = 0; r < n >> 18; r++) {
        u64 b = descriptor(s + 64 * (r & 7));
        group_fence();
        rs(d, a, b, r);
        rs(e, c, b + 4, 1);
        group_commit();
        w.step(x + r);
        w.step(in[(w.a >> 12) & (n - 1)]);
        group_wait<0>();
        settle(d);
        settle(e);
#pragma unroll
        for (int k = 0; k < 4; k++) a[k] = to_bf16(bits(d[k * 3])), c[k] = to_bf16(bits(e[k]) + w.a);
        w.step(bits(d[15]) ^ bits(e[9]));
    }
    out[gid()] = w.end() ^ fold(d) ^ fold(e);
}
