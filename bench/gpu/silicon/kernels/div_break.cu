// Loops left in the middle, nested, from two depths: BSSY BREAK BSYNC
#include "rare.cuh"
KERNEL kernel(PARAMS) {
    u32 x = get(in, n, 0), y = get(in, n, 1);
    Chains w(y);
    u32 steps = 0;
    for (u32 r = 0; r < n >> 17; r++) {
        u32 v = x;
        for (u32 k = 0; k < 20; k++) {
            v = v * 1103515245u + 12345u;
            if ((v >> 16 & 31) == 3) break;
            w.step(v);
            if ((v >> 20 & 31) == 5) {
                w.a ^= in[(v >> 12) & (n - 1)];
                if (w.a & 1) break;
                w.b += 7;
            }
            for (u32 j = 0;; j++) {
                steps++;
                v ^= v >> 5;
                if (j == (v & 3)) break;
                w.c = rot(w.c, 3) + j;
                if (j > 4 || (w.c & 15) == 9) goto next;
                v += w.c;
            }
            w.step(k);
        }
        w.d += r;
    next:
        x = mix(x, v);
        if ((x & 255) == 7) break;
    }
    u32 joined = __ballot_sync(ALL, steps & 1);
    out[gid()] = w.end() ^ joined;
    out[65536 + gid()] = steps;
}
