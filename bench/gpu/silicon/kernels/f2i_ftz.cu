// Floats to integers with every rounding, subnormal ones as zero: F2I.FTZ.NTZ F2I.FTZ.TRUNC.NTZ F2I.FTZ.FLOOR.NTZ F2I.FTZ.CEIL.NTZ F2I.FTZ.U32.NTZ
// input: float
#include "rare.cuh"
#define CONVERT(TO, ROUND) \
    { \
        u32 v; \
        asm volatile("cvt." ROUND ".ftz." TO ".f32 %0, %1;" : "=r"(v) : "f"(f)); \
        w.step(v); \
        f = fmaf(f, 1.0625f, (float)(v & 15)); \
    }
KERNEL kernel(PARAMS) {
    u32 x = get(in, n, 0);
    Chains w(x);
    float f = __uint_as_float(x);
    for (u32 r = 0; r < n >> 17; r++) {
        CONVERT("s32", "rni") CONVERT("s32", "rzi") CONVERT("s32", "rmi") CONVERT("s32", "rpi")
        CONVERT("u32", "rni") CONVERT("u32", "rzi") CONVERT("u32", "rmi") CONVERT("u32", "rpi")
        f = __uint_as_float((w.a & 0x807fffffu) | ((w.b & 1) ? 0x46000000u : 0u)) + __uint_as_float(get(in, n, r));
    }
    out[gid()] = w.end() ^ __float_as_uint(f);
}
