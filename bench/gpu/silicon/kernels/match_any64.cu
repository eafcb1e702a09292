// match.any of 64 bits, whose halves both matter: MATCH.ANY.U64
// input: small
#include "rare.cuh"
KERNEL kernel(PARAMS) {
    u32 x = get(in, n, 0), y = get(in, n, 1);
    Chains w(x);
    for (u32 r = 0; r < n >> 18; r++) {
#pragma unroll
        for (int k = 0; k < 3; k++) {
            u64 q = ((u64)(x & 3) << 33) | ((y >> k) & 1);
            u64 p = ((u64)(y & 1) << 63) | ((u64)(x & 6) << 1);
            u32 a = __match_any_sync(ALL, q);
            u32 b = __match_any_sync(ALL, p);
            u32 c = __match_any_sync(ALL, q ^ (p << 1));
            w.step(a + rot(b, 5));
            w.step(c);
            if (a == b) w.a += 99;
            if (c & (1u << (lane() ^ 1))) w.b ^= a;
            x = mix(x, a ^ k);
            y = mix(y, b + c);
        }
    }
    out[gid()] = w.end();
}
