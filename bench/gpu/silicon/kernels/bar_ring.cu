// A ring of pairs of barriers whose numbers are in registers; warps hand a value on: BAR.ARV BAR.SYNC
#include "rare.cuh"
DEV void sync(u32 id, u32 threads) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory"); }
DEV void arrive(u32 id, u32 threads) { asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory"); }
KERNEL kernel(PARAMS) {
    __shared__ u32 s[8][32];
    u32 x = get(in, n, 0);
    Chains w(x);
    u32 me = warp(), next = (me + 1) & 7;
    s[me][lane()] = x;
    __syncthreads();
    for (u32 r = 0; r < n >> 18; r++) {
        // Barrier 1 + k: what warp k waits for before its turn.
        if (me != 0 || r != 0) sync(1 + me, 64);
        u32 v = s[(me + 7) & 7][lane() ^ r];
        w.step(v);
        u32 sum = v + w.a;
        sum ^= __shfl_xor_sync(ALL, sum, 1 + r);
        s[me][lane()] = sum;
        w.step(sum);
        if (me != 7 || r + 1 < n >> 18) arrive(1 + next, 64);
    }
    out[gid()] = w.end();
}
