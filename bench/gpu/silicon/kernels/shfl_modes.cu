// Shuffles of every mode with their predicate, back to back: SHFL.IDX SHFL.UP SHFL.DOWN SHFL.BFLY
#include "rare.cuh"
#define SHFL(MODE, CLAMP) \
    asm volatile("{ .reg .pred p; shfl.sync." MODE ".b32 %0|p, %2, %3, " CLAMP ", 0xffffffff; selp.u32 %1, 1, 0, p; }" \
                 : "=r"(v), "=r"(p) : "r"(x), "r"(k));
DEV u32 idx(u32 x, u32 k, u32 &p) { u32 v; SHFL("idx", "0x1f") return v; }
DEV u32 up(u32 x, u32 k, u32 &p) { u32 v; SHFL("up", "0x0") return v; }
DEV u32 down(u32 x, u32 k, u32 &p) { u32 v; SHFL("down", "0x1f") return v; }
DEV u32 bfly(u32 x, u32 k, u32 &p) { u32 v; SHFL("bfly", "0x1f") return v; }
DEV u32 up8(u32 x, u32 k, u32 &p) { u32 v; SHFL("up", "0x1800") return v; }
DEV u32 down16(u32 x, u32 k, u32 &p) { u32 v; SHFL("down", "0x100f") return v; }
KERNEL kernel(PARAMS) {
    u32 x = get(in, n, 0), y = get(in, n, 1);
    Chains w(x);
#pragma unroll
    for (int k = 1; k < 8; k++) {
        u32 p, q, r, s, t, u;
        u32 a = idx(x, y & 31, p), b = up(y, k, q), c = down(x ^ y, k + 2, r), d = bfly(w.a, k, s);
        u32 e = up8(w.b, k & 7, t), f = down16(w.c, k, u);
        w.step(a ^ rot(b, 3));
        w.step(c + d);
        if (q) w.a += b;
        if (r) w.b ^= c;
        w.c = t ? w.c + e : w.c - e;
        w.d += u ? f : p + 2 * s;
        x = mix(x, a + e);
        y = mix(y, f);
    }
    out[gid()] = w.end();
}
