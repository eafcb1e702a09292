// The active lanes in divergent code, used so that the answer does not depend on how lanes meet: VOTE.ANY ATOMS BSSY
#include "rare.cuh"
DEV u32 lanes_below() {
    u32 m;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(m));
    return m;
}
KERNEL kernel(PARAMS) {
    __shared__ u32 counters[4];
    __shared__ u32 seen[4][256];
    u32 x = get(in, n, 0);
    Chains w(x);
    if (tid() < 4) counters[tid()] = 0;
    for (u32 k = tid(); k < 1024; k += 256) (&seen[0][0])[k] = 0;
    __syncthreads();
    for (u32 r = 0; r < 4; r++) {
        if (((x >> r) & 3) != 1) {
            u32 m = __activemask();
            w.a += (m >> lane()) & 1;  // always there
            u32 leader = __ffs(m) - 1, base = 0;
            if (lane() == leader) base = atomicAdd(&counters[r], __popc(m));
            base = __shfl_sync(m, base, leader);
            u32 ticket = base + __popc(m & lanes_below());
            atomicAdd(&seen[r][ticket & 255], 1u);  // each ticket once
            w.step(x);
        } else {
            w.step(~x);
        }
    }
    __syncthreads();
    u32 sum = 0;
#pragma unroll
    for (int r = 0; r < 4; r++) sum = mix(sum, counters[r] + (seen[r][tid()] << 16));
    out[gid()] = w.end() ^ sum;
}
