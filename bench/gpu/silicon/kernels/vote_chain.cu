// Votes of every kind back to back, on thread values: VOTE.ANY VOTE.ALL VOTE.EQ
#include "rare.cuh"
DEV bool uni(bool v) {
    u32 r;
    asm volatile("{ .reg .pred p, q; setp.ne.u32 p, %1, 0; vote.sync.uni.pred q, p, 0xffffffff; selp.u32 %0, 1, 0, q; }" : "=r"(r) : "r"((u32)v));
    return r;
}
KERNEL kernel(PARAMS) {
    u32 x = get(in, n, 0), y = get(in, n, 1);
    Chains w(x);
#pragma unroll
    for (int k = 0; k < 8; k++) {
        u32 b = __ballot_sync(ALL, (x >> k) & 1);
        bool any = __any_sync(ALL, ((y >> k) & 31) == 1);
        bool all = __all_sync(ALL, (y >> k) & 31);
        bool same = uni(b & 1 ? (x & 15) != 3 : (y & 15) != 2);
        u32 c = __ballot_sync(ALL, (b >> lane()) & (y >> k) & 1);
        w.step(b);
        w.step(c);
        if (any) w.a += b;
        if (all) w.b ^= c;
        w.c = same ? w.c + 1 : w.d;
        x = mix(x, b ^ c);
        y = rot(y, 1) ^ (any == all ? x : b);
    }
    out[gid()] = w.end();
}
