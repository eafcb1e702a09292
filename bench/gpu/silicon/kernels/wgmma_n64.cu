// Warp-group products with 64 columns, of every type: HGMMA.64x64x16.F32 HGMMA.64x64x16.F32.BF16 HGMMA.64x64x8.F32.TF32 QGMMA.64x64x32.F32.E4M3.E4M3 IGMMA.64x64x32.S8.S8
// arch: sm_90a
// registers: no
// launch: grid=8 block=128
#include "wgmma.cuh"
#define SS(NAME, T, FLAGS) \
    DEV void NAME(float (&d)[32], u64 a, u64 b, u32 add) { \
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %34, 0; wgmma.mma_async.sync.aligned.m64n64" T " " D32 ", %32, %33, p, 1, 1" FLAGS "; }" : F32S(d, 0) : "l"(a), "l"(b), "r"(add)); \
    }
SS(f16, "k16.f32.f16.f16", ", 0, 0") SS(bf16, "k16.f32.bf16.bf16", ", 0, 0") SS(tf32, "k8.f32.tf32.tf32", "") SS(e4m3, "k32.f32.e4m3.e4m3", "")
DEV void s8(u32 (&d)[32], u64 a, u64 b, u32 add) {
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %34, 0; wgmma.mma_async.sync.aligned.m64n64k32.s32.s8.s8 " D32 ", %32, %33, p; }" : R32S(d, 0) : "l"(a), "l"(b), "r"(add));
}
KERNEL kernel(PARAMS) {
    __shared__ __align__(128) u32 s[2048], t[2048], q[2048];
    u32 x = get(in, n, 0);
    Chains w(x);
    fill(s, 2048, in, n, to_f16);
    fill(t, 2048, in, n, to_bf16);
    fill(q, 2048, in, n, to_e4m3);
    float d[32] = {}, e[32] = {};
    u32 i[32] = {};
    for (u32 r = 0; r < n >> 18; r++) {
        u64 a = descriptor(s + 64 * (r & 3)), b = descriptor(t + 64 * (r & 3)), c = descriptor(q + 64 * (r & 7));
        group_fence();
        f16(d, a, a + 32, r);
        bf16(e, b, b + 48, 1);
        group_commit();
        w.step(x + r);
        s8(i, c, a, 1);
        group_commit();
        group_wait<1>();
        settle(d);
        w.step(bits(d[31]));
        group_wait<0>();
        settle(e);
        settle(i);
        group_fence();
        tf32(d, b, a + 16, 1);
        e4m3(e, c, c + 32, r);
        group_commit();
        w.step(i[7]);
        group_wait<0>();
        settle(d);
        settle(e);
        w.step(bits(e[30]) ^ bits(d[1]));
        x = mix(x, w.a);
    }
    out[gid()] = w.end() ^ fold(d) ^ fold(e) ^ fold(i);
}
