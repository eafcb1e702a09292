// Events for profilers, which do nothing otherwise: PMTRIG
#include "rare.cuh"
KERNEL kernel(PARAMS) {
    u32 x = get(in, n, 0);
    Chains w(x);
    for (u32 r = 0; r < n >> 18; r++) {
        asm volatile("pmevent 3;");
        w.step(in[(w.a >> 12) & (n - 1)]);
        asm volatile("pmevent.mask 0x1;");
        w.step(x + r);
        if (w.a & 1) asm volatile("pmevent 7;");
        w.step(w.b);
    }
    out[gid()] = w.end();
}
