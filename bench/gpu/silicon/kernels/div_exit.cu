// Lanes that return from inside loops and branches while others go on and vote: EXIT VOTE.ANY BSSY
#include "rare.cuh"
KERNEL kernel(PARAMS) {
    u32 x = get(in, n, 0), y = get(in, n, 1);
    Chains w(x);
    // Even lanes only may leave; odd lanes vote among themselves.
    for (u32 r = 0; r < 12; r++) {
        w.step(y + r);
        x = mix(x, w.a);
        if ((lane() & 1) == 0) {
            if ((x & 7) == 0) {
                out[gid()] = w.end() ^ r;
                return;
            }
            w.step(in[(x >> 12) & (n - 1)]);
        } else {
            u32 b = __ballot_sync(0xaaaaaaaau, x & 1);
            w.step(b);
            if (__any_sync(0xaaaaaaaau, (x & 63) == 1)) w.b ^= y;
        }
    }
    out[gid()] = w.end() + 1;
}
