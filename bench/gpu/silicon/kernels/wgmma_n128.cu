// Warp-group products with 128 columns of bfloats, eight-bit floats and bytes: HGMMA.64x128x16.F32.BF16 QGMMA.64x128x32.F32.E4M3.E4M3 QGMMA.64x128x32.F32.E4M3.E5M2 QGMMA.64x128x32.F32.E5M2.E4M3 IGMMA.64x128x32.S8.S8.SAT
// arch: sm_90a
// registers: no
// launch: grid=8 block=128
#include "wgmma.cuh"
#define SS(NAME, T, FLAGS) \
    DEV void NAME(float (&d)[64], u64 a, u64 b, u32 add) { \
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %66, 0; wgmma.mma_async.sync.aligned.m64n128" T " " D64 ", %64, %65, p, 1, 1" FLAGS "; }" : F32S(d, 0), F32S(d, 32) : "l"(a), "l"(b), "r"(add)); \
    }
SS(bf16, "k16.f32.bf16.bf16", ", 0, 0") SS(e4e4, "k32.f32.e4m3.e4m3", "") SS(e4e5, "k32.f32.e4m3.e5m2", "") SS(e5e4, "k32.f32.e5m2.e4m3", "")
DEV void s8(u32 (&d)[64], u64 a, u64 b, u32 add) {
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %66, 0; wgmma.mma_async.sync.aligned.m64n128k32.s32.s8.s8.satfinite " D64 ", %64, %65, p; }" : R32S(d, 0), R32S(d, 32) : "l"(a), "l"(b), "r"(add));
}
KERNEL kernel(PARAMS) {
    __shared__ __align__(128) u32 s[2560], t[2560], q[2560];
    u32 x = get(in, n, 0);
    Chains w(x);
    fill(s, 2560, in, n, to_e5m2);
    fill(t, 2560, in, n, to_bf16);
    fill(q, 2560, in, n, to_e4m3);
    float d[64] = {};
    u32 i[64] = {};
    for (u32 r = 0; r < n >> 18; r++) {
        u64 a = descriptor(s + 64 * (r & 3)), b = descriptor(t + 64 * (r & 3)), c = descriptor(q + 64 * (r & 7));
        group_fence();
        e4e4(d, c, c + 16, r);
        e4e5(d, c, a, 1);
        group_commit();
        w.step(x + r);
        s8(i, a, c, 1);
        group_commit();
        group_wait<1>();
        settle(d);
        w.step(bits(d[63]));
        group_wait<0>();
        settle(i);
        group_fence();
        bf16(d, b, b + 16, 1);
        e5e4(d, a + 16, c, 1);
        group_commit();
        w.step(i[9]);
        group_wait<0>();
        settle(d);
        w.step(bits(d[30]));
        x = mix(x, w.a);
    }
    out[gid()] = w.end() ^ fold(d) ^ fold(i);
}
