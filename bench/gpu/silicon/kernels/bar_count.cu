// Block-wide counts back to back, used at once, as a guard and in a select: BAR.RED.POPC B2R.RESULT
#include "rare.cuh"
KERNEL kernel(PARAMS) {
    u32 x = get(in, n, 0), y = get(in, n, 1);
    Chains w(x);
#pragma unroll
    for (int k = 0; k < 8; k++) {
        u32 c = __syncthreads_count((x >> k) & 1);
        u32 e = __syncthreads_count(((x >> k) & (y >> (k + 3))) & 1);
        w.step(c * 0x10001u + e);
        if (c > 128) w.a ^= y;
        w.d += e & 1 ? w.b : w.c;
        y = rot(y, 5) ^ c;
        u32 g = __syncthreads_count(y & 1);
        x ^= g << k;
    }
    out[gid()] = w.end() ^ x ^ y;
}
