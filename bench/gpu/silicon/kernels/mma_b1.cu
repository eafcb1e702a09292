// Products of single bits by and and by xor, counted: BMMA
#include "matrix.cuh"
#define K256(NAME, OP) \
    DEV void NAME(int (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) { \
        asm volatile("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32." OP ".popc {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
                     : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1)); \
    }
#define K128(NAME, OP) \
    DEV void NAME(int (&d)[4], u32 a0, u32 a1, u32 b0) { \
        asm volatile("mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32." OP ".popc {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};" \
                     : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]) : "r"(a0), "r"(a1), "r"(b0)); \
    }
K256(and256, "and") K256(xor256, "xor") K128(and128, "and") K128(xor128, "xor")
DEV void m8(int (&d)[2], u32 a, u32 b) { asm volatile("mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc {%0,%1}, {%2}, {%3}, {%0,%1};" : "+r"(d[0]), "+r"(d[1]) : "r"(a), "r"(b)); }
KERNEL kernel(PARAMS) {
    u32 x = get(in, n, 0);
    Chains w(x);
    int c[2] = {}, d[4] = {}, e[4] = {};
    for (u32 r = 0; r < n >> 18; r++) {
        u32 a[4];
#pragma unroll
        for (int k = 0; k < 4; k++) a[k] = get(in, n, r * 8 + k);
        u32 b0 = get(in, n, r * 8 + 4), b1 = w.a;
        and256(d, a, b0, b1);
        w.step(d[0]);
        xor256(e, a, b1, b0);
        and128(d, a[0], a[1], b1);
        xor128(d, a[2], a[3], b0);
        m8(c, a[2], b0);
        w.step(c[1] ^ e[1] ^ d[2]);
    }
    out[gid()] = w.end() ^ fold(c) ^ fold(d) ^ fold(e);
}
