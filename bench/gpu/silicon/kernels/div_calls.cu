// Calls of functions that are not inlined from divergent code: CALL.REL.NOINC RET.REL.NODEC BSSY BSYNC
#include "rare.cuh"
__device__ __noinline__ u32 slow(u32 a, u32 b) {
    for (u32 k = 0; k < (b & 7); k++) a = mix(a, b + k);
    return a / ((b & 31) + 1);
}
__device__ __noinline__ float curve(float a, u32 b) {
    float s = 0;
    for (u32 k = 0; k <= (b & 3); k++) s += __sinf(a + k) * (float)slow(b, k + 9);
    return s;
}
__device__ __noinline__ u64 wide(u64 a, u32 b) {
    if (b & 1) return a / (b | 1u);
    return a * 0x9e3779b97f4a7c15ull + slow(b, (u32)a);
}
KERNEL kernel(PARAMS) {
    u32 x = get(in, n, 0), y = get(in, n, 1);
    Chains w(x);
    u64 q = ((u64)x << 32) | y;
    for (u32 r = 0; r < n >> 18; r++) {
        if ((x >> r) & 1) {
            w.step(slow(x, y));
            if (y & 2) w.step(__float_as_uint(curve((float)(y & 255), x)));
        } else {
            q = wide(q, x);
            w.step((u32)q ^ (u32)(q >> 32));
        }
        u32 v = __shfl_down_sync(ALL, w.a, 1);
        x = mix(x, v);
        y += slow(w.b, r + 5);
    }
    out[gid()] = w.end() + (u32)q;
}
