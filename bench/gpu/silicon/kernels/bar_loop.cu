// A loop whose end is a block-wide count, with exchange through shared memory: BAR.RED.POPC B2R.RESULT
#include "rare.cuh"
KERNEL kernel(PARAMS) {
    __shared__ u32 s[256];
    u32 x = get(in, n, 0);
    Chains w(x);
    u32 rounds = 0;
    for (;;) {
        s[tid()] = x;
        u32 alive = __syncthreads_count((x & 7) != 0);
        u32 other = s[(tid() + alive + 1) & 255];
        w.step(other ^ alive);
        rounds++;
        x = (x & 7) != 0 ? (x >> 1) ^ ((other & 1) << 9) : x;
        bool stop = __syncthreads_or(rounds > 40);
        if (alive < 40 || stop) break;
    }
    out[gid()] = w.end() ^ rounds;
    out[65536 + gid()] = x;
}
