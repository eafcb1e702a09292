// TF32 products of both depths, with conversions next to them: HMMA.1688.F32.TF32 HMMA.1684.F32.TF32
// input: float
#include "matrix.cuh"
DEV u32 tf32(u32 x) {
    u32 r;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(__uint_as_float(x)));
    return r;
}
DEV void k8(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
DEV void k4(float (&d)[4], u32 a0, u32 a1, u32 b0) {
    asm volatile("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a0), "r"(a1), "r"(b0));
}
KERNEL kernel(PARAMS) {
    u32 x = get(in, n, 0);
    Chains w(x);
    float d[4] = {}, e[4] = {1, 2, 3, 4};
    for (u32 r = 0; r < n >> 17; r++) {
        u32 a[4], b[2];
#pragma unroll
        for (int k = 0; k < 4; k++) a[k] = tf32(get(in, n, r * 8 + k));
#pragma unroll
        for (int k = 0; k < 2; k++) b[k] = tf32(get(in, n, r * 8 + 4 + k));
        k8(d, a, b[0], b[1]);
        k4(e, a[1], a[2], b[1]);
        w.step(bits(e[0]));
        k4(e, a[3], a[0], tf32(to_f32(w.c)));
        k8(d, a, tf32(to_f32(bits(e[3]))), b[0]);
        w.step(bits(d[1]));
        d[2] *= 0.5f;
        if (e[2] < d[0]) e[1] = 1.5f;
    }
    out[gid()] = w.end() ^ fold(d) ^ fold(e);
}
