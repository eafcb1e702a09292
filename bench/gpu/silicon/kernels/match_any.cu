// match.any of 32 bits, back to back, masks used at once and as guards: MATCH.ANY
// input: small
#include "rare.cuh"
KERNEL kernel(PARAMS) {
    u32 x = get(in, n, 0), y = get(in, n, 1);
    Chains w(x);
#pragma unroll
    for (int k = 0; k < 6; k++) {
        u32 a = __match_any_sync(ALL, (x >> k) & 7);
        u32 b = __match_any_sync(ALL, y & 3);
        u32 c = __match_any_sync(ALL, a ^ b);
        w.step(a);
        w.step(b ^ rot(c, k));
        if (__popc(a) > 4) w.a ^= c;
        u32 leader = __ffs(a) - 1;
        u32 v = __shfl_sync(ALL, w.b, leader);
        w.c += lane() == leader ? b : v;
        x = mix(x, v) ^ k;
        y = (y + c) ^ (x >> 7);
    }
    out[gid()] = w.end();
}
