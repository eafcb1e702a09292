// Barriers that lanes of one warp reach in different branches (barrier.sync, not aligned): WARPSYNC BAR.SYNC BSSY BSYNC
#include "rare.cuh"
KERNEL kernel(PARAMS) {
    __shared__ u32 s[256];
    u32 x = get(in, n, 0);
    Chains w(x);
    for (u32 r = 0; r < 4; r++) {
        s[tid()] = w.a + r;
        u32 v;
        if ((x >> r) & 1) {
            w.step(x);
            asm volatile("barrier.sync 0;" ::: "memory");
            v = s[(tid() + 7) & 255];
            w.b += v;
            asm volatile("barrier.sync 1;" ::: "memory");
        } else {
            w.step(~x);
            asm volatile("barrier.sync 0;" ::: "memory");
            v = s[(tid() + 9) & 255];
            w.c ^= v;
            asm volatile("barrier.sync 1;" ::: "memory");
        }
        w.step(v);
    }
    out[gid()] = w.end();
}
