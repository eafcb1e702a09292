// Barriers over changing subsets of warps with counts in registers, then a scan over the block: BAR.SYNC SHFL.UP
#include "rare.cuh"
KERNEL kernel(PARAMS) {
    __shared__ u32 s[256];
    __shared__ u32 sums[8];
    u32 x = get(in, n, 0);
    Chains w(x);
    // Pairs, then fours, then eights of warps exchange.
#pragma unroll
    for (u32 size = 2; size <= 8; size *= 2) {
        u32 group = warp() / size, id = 1 + (size == 2 ? group : size == 4 ? 4 + group : 6);
        s[tid()] = w.a;
        asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(32 * size) : "memory");
        u32 v = s[group * size * 32 + (tid() * 5 + 3) % (size * 32)];
        w.step(v);
        asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(32 * size) : "memory");
    }
    u32 scan = w.a & 0xffff;
#pragma unroll
    for (u32 k = 1; k < 32; k *= 2) {
        u32 v = __shfl_up_sync(ALL, scan, k);
        if (lane() >= k) scan += v;
    }
    if (lane() == 31) sums[warp()] = scan;
    __syncthreads();
    for (u32 k = 0; k < warp(); k++) scan += sums[k];
    w.step(scan);
    out[gid()] = w.end();
}
