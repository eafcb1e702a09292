// Sleeps and yields in divergent loops and in a lock taken in turn: NANOSLEEP BSSY BSYNC MEMBAR.SC.CTA WARPSYNC.COLLECTIVE
#include "rare.cuh"
KERNEL kernel(PARAMS) {
    __shared__ volatile u32 turn;
    __shared__ u32 sum;
    u32 x = get(in, n, 0);
    Chains w(x);
    if (tid() == 0) { turn = 0; sum = blockIdx.x; }
    __syncthreads();
    for (u32 k = 0; k < (x & 3); k++) {
        __nanosleep(20 + (x & 15));
        w.step(k);
    }
    __nanosleep(10);
    __syncwarp();
    // Warps take turns; the sum depends on the order.
    if (lane() == 0) {
        while (turn != warp()) __nanosleep(32);
        __threadfence_block();
        sum = mix(sum, w.a);
        __threadfence_block();
        turn = warp() + 1;
    }
    __syncwarp();
    w.step(x);
    __syncthreads();
    out[gid()] = w.end() ^ sum;
}
