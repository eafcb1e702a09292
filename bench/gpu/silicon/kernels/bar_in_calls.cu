// Barriers and reductions inside functions that are not inlined, and in branches the whole block takes: BAR.RED.POPC BAR.RED.OR B2R.RESULT CALL.REL.NOINC RET.REL.NODEC
#include "rare.cuh"
__device__ __noinline__ u32 census(u32 x, u32 *s) {
    s[threadIdx.x] = x;
    u32 c = __syncthreads_count(x & 1);
    u32 v = s[(threadIdx.x + c) & 255];
    bool o = __syncthreads_or((v & 63) == (c & 63));
    return mix(v, o ? c : ~c);
}
__device__ __noinline__ u32 twice(u32 x, u32 *s) {
    u32 a = census(x, s), b = census(x >> 1, s);
    return a + rot(b, 5);
}
KERNEL kernel(PARAMS) {
    __shared__ u32 s[256];
    u32 x = get(in, n, 0);
    Chains w(x);
    for (u32 r = 0; r < n >> 18; r++) {
        u32 c = __syncthreads_count((x >> r) & 1);
        if (c & 1) {
            w.step(census(w.a, s));
            w.step(c);
        } else if (c & 2) {
            w.step(twice(w.b, s) + c);
        } else {
            u32 d = __syncthreads_count(w.c & 1);
            w.step(d * 3 + c);
        }
        x = mix(x, w.d);
    }
    out[gid()] = w.end();
}
