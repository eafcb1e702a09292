// match.all of 32 and 64 bits with mask and predicate: MATCH.ALL
// input: small
#include "rare.cuh"
KERNEL kernel(PARAMS) {
    u32 x = get(in, n, 0), y = get(in, n, 1);
    Chains w(x);
    u32 warped = __shfl_sync(ALL, x, 3);  // the same in all lanes
#pragma unroll
    for (int k = 0; k < 6; k++) {
        int p, q, r;
        u32 a = __match_all_sync(ALL, warped >> k, &p);                      // all agree
        u32 b = __match_all_sync(ALL, (x >> k) > 200 >> k, &q);              // sometimes
        u32 c = __match_all_sync(ALL, ((u64)warped << 32) | (y >> 8 - k), &r);  // sometimes, 64 bits
        w.step(a ^ b);
        w.step(c + (p << 1) + (q << 2) + (r << 3));
        if (p) w.a += x;
        if (q) w.b ^= y;
        w.c = r ? w.c * 3 : w.d;
        x = (x + (q ? 13 : 17)) & 255;
        y = (y + r * 5 + k) & 255;
        warped = __shfl_sync(ALL, w.a, k * 5);
    }
    out[gid()] = w.end();
}
