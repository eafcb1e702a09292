// The last block to finish sums what all have written: MEMBAR ATOMG CCTL.IVALL BAR.RED.OR
#include "rare.cuh"
KERNEL kernel(PARAMS) {
    __shared__ u32 s[8];
    u32 x = get(in, n, 0);
    Chains w(x);
    for (u32 k = 0; k < 8; k++) w.step(get(in, n, k));
    u32 sum = __reduce_add_sync(ALL, w.a);
    if (lane() == 0) s[warp()] = sum;
    __syncthreads();
    if (tid() == 0) {
        u32 total = 0;
        for (int k = 0; k < 8; k++) total = mix(total, s[k]);
        ((volatile u32 *)out)[1000 + blockIdx.x] = total;
    }
    __threadfence();
    bool last = false;
    if (tid() == 0) last = atomicAdd(&out[2000], 1u) == gridDim.x - 1;
    if (__syncthreads_or(last)) {
        __threadfence();
        if (tid() < gridDim.x) {
            u32 v = ((volatile u32 *)out)[1000 + tid()];
            out[3000 + tid()] = mix(v, 0x1234u + tid());
        }
        if (tid() == 0) out[2000] = 12345;
    }
    out[65536 + gid()] = w.end();
}
