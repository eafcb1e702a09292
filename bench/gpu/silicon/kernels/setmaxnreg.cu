// A producer warp group that gives registers away and consumers that take them: USETMAXREG HGMMA SYNCS.PHASECHK SYNCS.ARRIVE
// arch: sm_90a
// registers: no
// launch: grid=8 block=384
#include "wgmma.cuh"
DEV void ss(float (&d)[16], u64 a, u64 b, u32 add) {
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %18, 0; wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 " D16 ", %16, %17, p, 1, 1, 0, 0; }" : F16(d) : "l"(a), "l"(b), "r"(add));
}
KERNEL __launch_bounds__(384, 1) kernel(PARAMS) {
    __shared__ u64 full[2], empty[2];
    __shared__ __align__(128) u32 s[2][2048];
    if (tid() == 0) {
        for (int k = 0; k < 2; k++) {
            bar_init(&full[k], 128);
            bar_init(&empty[k], 256);
        }
        fence_init();
    }
    __syncthreads();
    u32 rounds = n >> 17;  // 8
    if (tid() >= 256) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        u32 t = tid() - 256;
        for (u32 r = 0; r < rounds; r++) {
            u32 k = r & 1;
            if (r >= 2) bar_wait(&empty[k], ((r >> 1) & 1) ^ 1);
            for (u32 j = t; j < 2048; j += 128) s[k][j] = to_f16(in[(blockIdx.x * rounds + r) * 2048 + j]);
            fence_async();
            bar_arrive(&full[k]);
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        u32 x = get(in, n, 0);
        Chains w(x);
        float d[16] = {}, e[16] = {};
        for (u32 r = 0; r < rounds; r++) {
            u32 k = r & 1;
            bar_wait(&full[k], (r >> 1) & 1);
            u64 a = descriptor(s[k] + 64 * (tid() >> 7)), b = descriptor(s[k] + 1024);
            group_fence();
            ss(d, a, b, 1);
            ss(e, a + 16, b + 4, r);
            group_commit();
            w.step(x + r);
            group_wait<0>();
            settle(d);
            settle(e);
            w.step(bits(d[0]) ^ bits(e[15]));
            bar_arrive(&empty[k]);
            x = mix(x, w.a);
        }
        out[gid()] = w.end() ^ fold(d) ^ fold(e);
    }
}
