// Divergent work of different length between block barriers, in a loop: BSSY BSYNC BAR.SYNC
#include "rare.cuh"
KERNEL kernel(PARAMS) {
    __shared__ u32 s[2][256];
    u32 x = get(in, n, 0);
    Chains w(x);
    for (u32 r = 0; r < n >> 17; r++) {
        u32 v = x;
        while (v & 0x3f0) {
            v = v * 69069u + 1;
            w.step(v);
            if ((w.a & 63) == 2) break;
            v &= 0x7fffffffu >> (w.b & 7);
        }
        s[r & 1][tid()] = w.a + v;
        __syncthreads();
        u32 other = s[r & 1][(tid() * 9 + r) & 255];
        if (other & 1) {
            w.step(other);
        } else {
            for (u32 k = 0; k < (other & 6); k += 2) w.b = mix(w.b, other + k);
        }
        x = mix(x, other);
    }
    out[gid()] = w.end();
}
