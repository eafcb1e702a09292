// One atomic for the lanes that matched; sums that do not depend on the order: MATCH.ANY ATOMS.ADD ATOMG REDG REDUX.SUM
// input: small
#include "rare.cuh"
KERNEL kernel(PARAMS) {
    __shared__ u32 bins[64];
    u32 x = get(in, n, 0);
    Chains w(x);
    if (tid() < 64) bins[tid()] = 0;
    __syncthreads();
    u32 tickets = 0;
    for (u32 r = 0; r < 5; r++) {
        u32 bin = (x >> r) & 15;
        u32 same = __match_any_sync(ALL, bin);
        u32 leader = __ffs(same) - 1, count = __popc(same), base = 0;
        u32 below = __popc(same & ((1u << lane()) - 1));
        if (lane() == leader) base = atomicAdd(&bins[bin], count);
        base = __shfl_sync(ALL, base, leader);
        tickets += base + below;  // as a set the same in any order
        w.step(count * 32 + below);
        u32 sum = __reduce_add_sync(same, bin * r + below);
        if (lane() == leader) {
            atomicAdd(&out[131072 + blockIdx.x * 64 + bin], sum);
            if (atomicAdd(&out[140000 + blockIdx.x * 64 + bin], count) > 100000) w.a = 0;  // never
        }
        x = mix(x, w.a) & 255;
    }
    atomicAdd(&out[150000 + blockIdx.x], tickets);
    __syncthreads();
    out[gid()] = w.end() + bins[tid() & 63];
}
