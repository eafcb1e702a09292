// Votes whose predicate guards loads, stores, votes and branches at once: VOTE.ANY VOTE.ALL
#include "rare.cuh"
KERNEL kernel(PARAMS) {
    u32 x = get(in, n, 0), y = get(in, n, 1);
    Chains w(x);
    for (u32 r = 0; r < n >> 17; r++) {
        bool p = (x & 31) == r;
        if (__any_sync(ALL, p)) {
            w.step(in[(x >> 12) & (n - 1)]);
            if (__all_sync(ALL, (y & 15) != r)) out[65536 + gid()] = w.a;
        }
        bool q = __any_sync(ALL, ((x ^ y) & 63) == r);
        bool s = __all_sync(ALL, q || (x & 3));
        u32 v = q && !s ? w.b : w.c;
        if (!__any_sync(ALL, v == 0 || (v & 127) == 3)) w.d += v;
        x = mix(x, v);
        y = mix(y, w.d);
    }
    out[gid()] = w.end();
}
