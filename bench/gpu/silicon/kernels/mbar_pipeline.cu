// A producer warp with bulk copies and consumer warps over a ring of four stages: UBLKCP SYNCS.ARRIVE.TRANS64 SYNCS.PHASECHK ELECT
// launch: grid=8 block=160
#include "async.cuh"
KERNEL kernel(PARAMS) {
    __shared__ u64 full[4], empty[4];
    __shared__ __align__(128) u32 s[4][512];
    Chains w(tid());
    if (tid() == 0) {
        for (int k = 0; k < 4; k++) {
            bar_init(&full[k], 1);
            bar_init(&empty[k], 4);
        }
        fence_init();
    }
    __syncthreads();
    u32 rounds = n >> 16;  // 16
    if (warp() == 4) {
        u32 leader;
        asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }" : "=r"(leader));
        if (leader) {
            for (u32 r = 0; r < rounds; r++) {
                u32 k = r & 3, phase = (r >> 2) & 1;
                if (r >= 4) bar_wait(&empty[k], phase ^ 1);
                bar_expect(&full[k], 2048);
                bulk_load(s[k], &in[((blockIdx.x * rounds + r) * 512) & (n - 1)], 1024, &full[k]);
                bulk_load(&s[k][256], &in[((blockIdx.x * rounds + r) * 512 + 256) & (n - 1)], 1024, &full[k]);
            }
        }
    } else {
        for (u32 r = 0; r < rounds; r++) {
            u32 k = r & 3, phase = (r >> 2) & 1;
            bar_wait(&full[k], phase);
            u32 a = s[k][tid()], b = s[k][tid() + 128], c = s[k][(tid() * 3) & 511], d = s[k][511 - tid()];
            w.step(a ^ b);
            w.step(c + d);
            __syncwarp();
            if (lane() == 0) bar_arrive(&empty[k]);
            w.step(rot(a, 3) + d);
        }
    }
    out[gid()] = w.end();
}
