// Recursion with a stack frame, each lane to its own depth: CALL.REL.NOINC RET.REL.NODEC LDL STL
#include "rare.cuh"
__device__ __noinline__ u32 walk(u32 x, u32 depth, u32 *trail) {
    u32 mine[3] = {x, x ^ depth, x * 3};
    trail[depth & 1] += mine[x % 3];
    if (depth == 0 || (x & 15) == 9) return mix(x, trail[0]);
    u32 left = walk(mix(x, depth), depth - 1, mine);
    if (x & 1) left ^= walk(left + 1, depth - 1, trail);
    return left + mine[0] + mine[1];
}
KERNEL kernel(PARAMS) {
    u32 x = get(in, n, 0);
    Chains w(x);
    u32 trail[2] = {x, 1};
    u32 v = walk(x, 3 + (x >> 30), trail);
    w.step(v);
    w.step(trail[0] ^ rot(trail[1], 9));
    w.step(__shfl_xor_sync(ALL, v, 5));
    out[gid()] = w.end();
}
