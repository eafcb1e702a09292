// match.any and match.all among the lanes of a branch: MATCH.ANY MATCH.ALL WARPSYNC
// input: small
#include "rare.cuh"
KERNEL kernel(PARAMS) {
    u32 x = get(in, n, 0), y = get(in, n, 1);
    Chains w(x + y);
    for (u32 r = 0; r < n >> 18; r++) {
        bool side = (x ^ r) & 1;
        u32 mask = __ballot_sync(ALL, side);
        if (side) {
            u32 a = __match_any_sync(mask, y & 3);
            int p;
            u32 b = __match_all_sync(mask, (y & 4) == (r & 4), &p);
            w.step(a);
            w.step(b + p);
            u32 c = __match_any_sync(a, w.a & 1);  // among the lanes that matched
            w.a ^= c;
        } else {
            u32 a = __match_any_sync(~mask, (u64)(x & 6) << 40);
            w.step(a ^ 1);
        }
        __syncwarp();
        x = mix(x, w.a) & 255;
        y = mix(y, w.b) & 255;
    }
    out[gid()] = w.end();
}
