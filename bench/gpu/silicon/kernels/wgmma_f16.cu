// Warp-group products of halves from shared memory, single sums, transposed and negated too: HGMMA.64x16x16.F32 WARPGROUP.ARRIVE WARPGROUP.DEPBAR
// arch: sm_90a
// registers: no
#include "wgmma.cuh"
#define MMA(NAME, SA, SB, TA, TB) \
    DEV void NAME(float (&d)[8], u64 a, u64 b, u32 add) { \
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %10, 0; wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 " D8 ", %8, %9, p, " SA ", " SB ", " TA ", " TB "; }" : F8(d, 0) : "l"(a), "l"(b), "r"(add)); \
    }
MMA(plain, "1", "1", "0", "0") MMA(minus, "-1", "1", "0", "0") MMA(turned, "1", "1", "1", "0") MMA(both, "1", "-1", "1", "1")
KERNEL kernel(PARAMS) {
    __shared__ __align__(128) u32 s[2][1024];
    u32 x = get(in, n, 0);
    Chains w(x);
    fill(&s[0][0], 2048, in, n, to_f16);
    float d[8] = {}, e[8] = {};
    for (u32 r = 0; r < n >> 18; r++) {
        u64 a = descriptor(s[0] + 64 * (r & 3)), b = descriptor(s[1] + 32 * (r & 7));
        group_fence();
        plain(d, a, b, 1);
        minus(e, a + 2, b, r & 1);
        group_commit();
        w.step(x + r);
        group_wait<0>();
        settle(d);
        settle(e);
        w.step(bits(d[0]) ^ bits(e[7]));
        group_fence();
        turned(d, a, b + 4, 1);
        both(d, a + 4, b, 1);  // on the sum of the one before
        group_commit();
        group_wait<0>();
        settle(d);
        w.step(bits(d[3]));
        x = mix(x, w.a);
    }
    out[gid()] = w.end() ^ fold(d) ^ fold(e);
}
