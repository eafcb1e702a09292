// Warp-group products with 256 columns, half of a thread's registers: HGMMA.64x256x16.F32.BF16 QGMMA.64x256x32.F32.E4M3.E4M3
// arch: sm_90a
// registers: no
// launch: grid=8 block=128
#include "wgmma.cuh"
#define SS(NAME, T, FLAGS) \
    DEV void NAME(float (&d)[128], u64 a, u64 b, u32 add) { \
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %130, 0; wgmma.mma_async.sync.aligned.m64n256" T " " D128 ", %128, %129, p, 1, 1" FLAGS "; }" \
                     : F32S(d, 0), F32S(d, 32), F32S(d, 64), F32S(d, 96) : "l"(a), "l"(b), "r"(add)); \
    }
SS(bf16, "k16.f32.bf16.bf16", ", 0, 0") SS(e4m3, "k32.f32.e4m3.e4m3", "")
KERNEL kernel(PARAMS) {
    __shared__ __align__(128) u32 s[3072], t[3072];
    u32 x = get(in, n, 0);
    Chains w(x);
    fill(s, 3072, in, n, to_e4m3);
    fill(t, 3072, in, n, to_bf16);
    float d[128] = {};
    for (u32 r = 0; r < n >> 18; r++) {
        u64 a = descriptor(s + 64 * (r & 3)), b = descriptor(t + 64 * (r & 3));
        group_fence();
        e4m3(d, a, a + 32, r);
        bf16(d, b, b + 16, 1);
        group_commit();
        w.step(x + r);
        group_wait<0>();
        settle(d);
        w.step(bits(d[127]) ^ bits(d[r & 63]));
        group_fence();
        bf16(d, b + 32, b, 1);
        group_commit();
        w.step(x);
        group_wait<0>();
        settle(d);
        x = mix(x, w.a ^ bits(d[5]));
    }
    out[gid()] = w.end() ^ fold(d);
}
