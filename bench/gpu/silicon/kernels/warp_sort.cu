// Bitonic sort of keys in a warp by shuffles, and a scan by shuffles with their predicate: SHFL.BFLY SHFL.UP
#include "rare.cuh"
KERNEL kernel(PARAMS) {
    u32 key = get(in, n, 0), other = get(in, n, 1);
#pragma unroll
    for (u32 size = 2; size <= 32; size *= 2)
#pragma unroll
        for (u32 step = size / 2; step; step /= 2) {
            u32 a = __shfl_xor_sync(ALL, key, step), b = __shfl_xor_sync(ALL, other, step);
            bool keep = ((lane() & step) == 0) == ((lane() & size) == 0);
            key = keep ? min(key, a) : max(key, a);
            other = keep ? max(other, b) : min(other, b);
        }
    u32 scan = key ^ other;
#pragma unroll
    for (u32 k = 1; k < 32; k *= 2)
        asm volatile("{ .reg .u32 t; .reg .pred p; shfl.sync.up.b32 t|p, %0, %1, 0, 0xffffffff; @p add.u32 %0, t, %0; }" : "+r"(scan) : "r"(k));
    out[gid()] = key;
    out[65536 + gid()] = other;
    out[131072 + gid()] = scan;
}
