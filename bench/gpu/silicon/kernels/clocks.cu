// Clocks compared with earlier ones only: CS2R SR_CLOCKLO SR_GLOBALTIMERLO
#include "rare.cuh"
KERNEL kernel(PARAMS) {
    u32 x = get(in, n, 0);
    Chains w(x);
    long long t0 = clock64();
    u64 g0, g1;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(g0));
    u32 c0 = clock();
    for (u32 r = 0; r < n >> 18; r++) {
        w.step(in[(w.a >> 12) & (n - 1)]);
        long long t1 = clock64();
        w.step(t1 >= t0 ? x : 1);
        if (t1 < t0) w.b = 0;
        t0 = t1;
        u32 c1 = clock();
        w.c += (int)(c1 - c0) >= 0 ? 3 : 4;
        c0 = c1;
        w.step(in[(w.b >> 12) & (n - 1)]);
    }
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(g1));
    out[gid()] = w.end() + (g1 >= g0);
}
