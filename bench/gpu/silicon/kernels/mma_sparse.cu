// Sparse products of halves, bfloats, TF32 and bytes: HMMA.SP.16832.F32 HMMA.SP.16816.F32 IMMA.SP.16864.S8.S8
#include "matrix.cuh"
#define HALF32(NAME, T, S) \
    DEV void NAME(float (&d)[4], const u32 (&a)[4], const u32 (&b)[4], u32 m) { \
        asm volatile("mma.sp::ordered_metadata.sync.aligned." S ".row.col.f32." T ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9,%10,%11}, {%0,%1,%2,%3}, %12, 0x0;" \
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(m)); \
    }
HALF32(f16, "f16.f16", "m16n8k32") HALF32(bf16, "bf16.bf16", "m16n8k32") HALF32(tf32, "tf32.tf32", "m16n8k16")
DEV void f16k16(float (&d)[4], u32 a0, u32 a1, u32 b0, u32 b1, u32 m) {
    asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6,%7}, {%0,%1,%2,%3}, %8, 0x1;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a0), "r"(a1), "r"(b0), "r"(b1), "r"(m));
}
DEV void s8(int (&d)[4], const u32 (&a)[4], const u32 (&b)[4], u32 m) {
    asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9,%10,%11}, {%0,%1,%2,%3}, %12, 0x0;"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(m));
}
// Pairs of places in rising order: 01, 02, 03, 12, 13, 23 as four bits each.
DEV u32 pairs(u32 x) {
    u32 m = 0;
#pragma unroll
    for (int k = 0; k < 8; k++) {
        u32 c = (x >> (3 * k)) & 7;
        m |= ((0xed9c84ull >> (4 * (c < 6 ? c : 0))) & 15) << (4 * k);
    }
    return m;
}
KERNEL kernel(PARAMS) {
    u32 x = get(in, n, 0);
    Chains w(x);
    float d[4] = {}, e[4] = {}, f[4] = {};
    int i[4] = {};
    for (u32 r = 0; r < n >> 18; r++) {
        u32 a[4], b[4], m = pairs(get(in, n, r * 16 + 9)), h[4], g[4], p[4], q[4], t[4], u[4];
        u32 single = get(in, n, r * 16 + 10) & 1 ? 0x4e4ee4e4u : 0x44eee444u;  // of TF32: 4 or 14 in four bits
#pragma unroll
        for (int k = 0; k < 4; k++) {
            a[k] = get(in, n, r * 16 + k);
            b[k] = get(in, n, r * 16 + 4 + k);
            h[k] = to_f16(a[k]), g[k] = to_f16(b[k]), p[k] = to_bf16(a[k]), q[k] = to_bf16(b[k]), t[k] = to_f32(a[k]), u[k] = to_f32(b[k]);
        }
        f16(d, h, g, m);
        bf16(e, p, q, m);
        s8(i, a, b, m);
        w.step(bits(d[0]));
        f16k16(d, h[0], h[1], g[2], g[3], pairs(w.a));
        tf32(f, t, u, single);
        w.step(bits(e[1]) ^ i[2]);
        w.step(bits(f[3]) ^ bits(d[1]));
    }
    out[gid()] = w.end() ^ fold(d) ^ fold(e) ^ fold(f) ^ fold(i);
}
