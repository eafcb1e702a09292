// Nested branches that come together again, with shuffles at the joins: BSSY BSYNC SHFL.IDX
#include "rare.cuh"
KERNEL kernel(PARAMS) {
    u32 x = get(in, n, 0), y = get(in, n, 1);
    Chains w(x);
    for (u32 r = 0; r < n >> 17; r++) {
        if (x & 1) {
            w.step(in[(x >> 12) & (n - 1)]);
            if (x & 2) {
                w.step(y);
                if (y & 4) {
                    w.a /= (y & 15) + 1;
                    w.step(in[(y >> 12) & (n - 1)]);
                } else {
                    w.b %= (x & 255) + 3;
                }
                w.c ^= y;
            } else if (y & 8) {
                w.d += in[(w.d >> 13) & (n - 1)];
            }
            w.step(r);
        } else {
            if ((x ^ y) & 16) {
                for (u32 k = 0; k < (y & 3); k++) w.step(x + k);
            }
            w.a = mix(w.a, w.b);
        }
        u32 v = __shfl_sync(ALL, w.a, (lane() + r) & 31);
        x = mix(x, v);
        y = rot(y, 3) + w.d;
    }
    out[gid()] = w.end();
}
