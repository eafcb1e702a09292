// Warp-group products of TF32, from shared memory and from registers: HGMMA.64x16x8.F32.TF32 WARPGROUP.ARRIVE WARPGROUP.DEPBAR
// arch: sm_90a
// registers: no
#include "wgmma.cuh"
DEV void ss(float (&d)[8], u64 a, u64 b, u32 add) {
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %10, 0; wgmma.mma_async.sync.aligned.m64n16k8.f32.tf32.tf32 " D8 ", %8, %9, p, 1, 1; }" : F8(d, 0) : "l"(a), "l"(b), "r"(add));
}
DEV void rs(float (&d)[8], const u32 (&a)[4], u64 b, u32 add) {
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %13, 0; wgmma.mma_async.sync.aligned.m64n16k8.f32.tf32.tf32 " D8 ", {%8,%9,%10,%11}, %12, p, 1, -1; }"
                 : F8(d, 0) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
}
KERNEL kernel(PARAMS) {
    __shared__ __align__(128) u32 s[2048];
    u32 x = get(in, n, 0);
    Chains w(x);
    fill(s, 2048, in, n, to_f32);
    float d[8] = {}, e[8] = {};
    for (u32 r = 0; r < n >> 18; r++) {
        u64 a = descriptor(s + 64 * (r & 3)), b = descriptor(s + 1024 + 32 * (r & 7));
        u32 q[4];
#pragma unroll
        for (int k = 0; k < 4; k++) q[k] = to_f32(get(in, n, r * 4 + k));
        group_fence();
        ss(d, a, b, 1);
        rs(e, q, b, r & 1);
        ss(d, a + 2, b + 2, 1);
        group_commit();
        w.step(x + r);
        group_wait<0>();
        settle(d);
        settle(e);
        w.step(bits(d[0]) ^ bits(e[5]));
        x = mix(x, w.a);
    }
    out[gid()] = w.end() ^ fold(d) ^ fold(e);
}
