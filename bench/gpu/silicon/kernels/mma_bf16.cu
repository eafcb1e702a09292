// bfloat16 products, chained and side by side: HMMA.16816.F32.BF16 HMMA.1688.F32.BF16
#include "matrix.cuh"
DEV void k16(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
DEV void k8(float (&d)[4], u32 a0, u32 a1, u32 b0) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a0), "r"(a1), "r"(b0));
}
KERNEL kernel(PARAMS) {
    u32 x = get(in, n, 0);
    Chains w(x);
    float d[4][4] = {};
    for (u32 r = 0; r < n >> 17; r++) {
        u32 a[4];
#pragma unroll
        for (int k = 0; k < 4; k++) a[k] = to_bf16(get(in, n, r * 8 + k));
        u32 b0 = to_bf16(get(in, n, r * 8 + 4)), b1 = to_bf16(get(in, n, r * 8 + 5));
#pragma unroll
        for (int k = 0; k < 4; k++) k16(d[k], a, k & 1 ? b1 : b0, to_bf16(w.b + k));
        w.step(bits(d[3][3]));  // the last one, at once
        k8(d[1], a[1], a[0], b1);
        k8(d[0], a[2], b0, to_bf16(w.a));
        w.step(bits(d[0][2]) ^ bits(d[1][1]));
    }
    out[gid()] = w.end() ^ fold(d[0]) ^ fold(d[1]) ^ fold(d[2]) ^ fold(d[3]);
}
