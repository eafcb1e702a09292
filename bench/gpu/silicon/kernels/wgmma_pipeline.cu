// Warp-group products of tiles that bulk copies bring, the accumulator kept over the loop, one group left under way: IGMMA UBLKCP SYNCS.PHASECHK WARPGROUP.DEPBAR.LE
// arch: sm_90a
// registers: no
// launch: grid=8 block=128
#include "wgmma.cuh"
DEV void ss(u32 (&d)[8], u64 a, u64 b) {
    asm volatile("{ .reg .pred p; setp.eq.u32 p, 0, 0; wgmma.mma_async.sync.aligned.m64n16k32.s32.s8.s8 " D8 ", %8, %9, p; }" : R8(d, 0) : "l"(a), "l"(b));
}
KERNEL kernel(PARAMS) {
    __shared__ u64 bar[4];
    __shared__ __align__(128) u32 s[4][1024];
    u32 x = get(in, n, 0);
    Chains w(x);
    if (tid() < 4) bar_init(&bar[tid()], 1);
    fence_init();
    __syncthreads();
    u32 rounds = n >> 17;  // 8
    const u32 *from = in + blockIdx.x * 8192;
    if (tid() == 0)
        for (u32 k = 0; k < 3; k++) {
            bar_expect(&bar[k], 4096);
            bulk_load(s[k], from + k * 1024, 4096, &bar[k]);
        }
    u32 d[8] = {};
    for (u32 r = 0; r < rounds; r++) {
        bar_wait(&bar[r & 3], (r >> 2) & 1);
        group_fence();
        ss(d, descriptor(s[r & 3]), descriptor(s[r & 3] + 512));
        ss(d, descriptor(s[r & 3] + 64), descriptor(s[r & 3] + 640));
        group_commit();
        w.step(x + r);
        group_wait<1>();  // all but this round's: the buffer of the last round is free
        __syncthreads();
        if (tid() == 0 && r + 3 < rounds) {
            bar_expect(&bar[(r + 3) & 3], 4096);
            bulk_load(s[(r + 3) & 3], from + (r + 3) * 1024, 4096, &bar[(r + 3) & 3]);
        }
        w.step(s[r & 3][tid()]);
    }
    group_wait<0>();
    settle(d);
    out[gid()] = w.end() ^ fold(d);
}
