// Functions called through a table of pointers, divergent and uniform: CALL.REL.NOINC RET.REL.NODEC WARPSYNC.COLLECTIVE LDL STL
#include "rare.cuh"
typedef u32 (*Function)(u32, u32);
__device__ __noinline__ u32 f0(u32 a, u32 b) { return mix(a, b); }
__device__ __noinline__ u32 f1(u32 a, u32 b) { return a / ((b & 63) + 1); }
__device__ __noinline__ u32 f2(u32 a, u32 b) { return rot(a, b & 31) + __popc(b); }
__device__ __noinline__ u32 f3(u32 a, u32 b) {
    u32 s = a;
    for (u32 k = 0; k < (b & 7); k++) s = s * 33 + k;
    return s;
}
__device__ Function table[4] = {f0, f1, f2, f3};
KERNEL kernel(PARAMS) {
    u32 x = get(in, n, 0), y = get(in, n, 1);
    Chains w(x);
    for (u32 r = 0; r < n >> 17; r++) {
        u32 v = table[(w.a >> 3) & 3](x, y);     // each lane its own
        w.step(v);
        v = table[(blockIdx.x + r) & 3](v, w.b);  // all lanes the same
        x ^= v;
        y = mix(y, w.c);
        w.d += __shfl_xor_sync(ALL, v, 3);
    }
    out[gid()] = w.end();
}
