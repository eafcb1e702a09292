// Several groups of warp-group products under way, waits that leave one or two: HGMMA WARPGROUP.DEPBAR.LE WARPGROUP.ARRIVE
// arch: sm_90a
// registers: no
#include "wgmma.cuh"
DEV void ss(float (&d)[16], u64 a, u64 b, u32 add) {
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %18, 0; wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 " D16 ", %16, %17, p, 1, 1, 0, 0; }" : F16(d) : "l"(a), "l"(b), "r"(add));
}
KERNEL kernel(PARAMS) {
    __shared__ __align__(128) u32 s[4096];
    u32 x = get(in, n, 0);
    Chains w(x);
    fill(s, 4096, in, n, to_f16);
    float d[16] = {}, e[16] = {}, f[16] = {};
    for (u32 r = 0; r < n >> 18; r++) {
        u64 a = descriptor(s + 64 * (r & 3)), b = descriptor(s + 2048 + 64 * (r & 3));
        group_fence();
        ss(d, a, b, 1);
        group_commit();
        ss(e, a + 8, b + 4, 1);
        ss(e, a + 16, b + 8, 1);
        group_commit();
        ss(f, a + 32, b, r & 1);
        group_commit();
        w.step(x + r);
        group_wait<2>();
        settle(d);
        w.step(bits(d[0]) ^ bits(d[15]));
        group_wait<1>();
        settle(e);
        w.step(bits(e[7]));
        group_wait<0>();
        settle(f);
        w.step(bits(f[3]) ^ bits(f[12]));
        x = mix(x, w.a);
    }
    out[gid()] = w.end() ^ fold(d) ^ fold(e) ^ fold(f);
}
