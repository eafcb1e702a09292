// Flow that is no tree of ifs and loops: jumps into the middle of others: BSSY BSYNC
#include "rare.cuh"
KERNEL kernel(PARAMS) {
    u32 x = get(in, n, 0), y = get(in, n, 1);
    Chains w(x ^ y);
    u32 r = 0;
    if (x & 1) goto second;
first:
    w.step(x + r);
    if ((w.a & 7) == 1) goto third;
    if ((w.b & 3) == 2) x ^= in[(w.b >> 12) & (n - 1)];
second:
    w.c += rot(y, r & 31);
    w.step(y);
    if (w.c & 1) {
    third:
        w.d ^= x;
        y = mix(y, w.d);
        if ((y & 31) == 4) goto fourth;
    }
    if (++r < 24) goto first;
fourth:
    w.step(r);
    if (r < 20 && (w.a & 1)) {
        r += 3;
        goto second;
    }
    __syncwarp();
    w.step(__shfl_sync(ALL, w.a, 31 - lane()));
    out[gid()] = w.end();
}
