// Products of bytes, signed and unsigned and mixed, with saturation: IMMA.16816.S8.S8 IMMA.16832.U8.U8 IMMA.16832.S8.S8.SAT IMMA.8816
#include "matrix.cuh"
#define K32(NAME, T, SAT) \
    DEV void NAME(int (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) { \
        asm volatile("mma.sync.aligned.m16n8k32.row.col" SAT ".s32." T ".s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
                     : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1)); \
    }
#define K16(NAME, T) \
    DEV void NAME(int (&d)[4], u32 a0, u32 a1, u32 b0) { \
        asm volatile("mma.sync.aligned.m16n8k16.row.col.s32." T ".s32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};" \
                     : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]) : "r"(a0), "r"(a1), "r"(b0)); \
    }
#define M8(NAME, T) \
    DEV void NAME(int (&d)[2], u32 a, u32 b) { asm volatile("mma.sync.aligned.m8n8k16.row.col.s32." T ".s32 {%0,%1}, {%2}, {%3}, {%0,%1};" : "+r"(d[0]), "+r"(d[1]) : "r"(a), "r"(b)); }
K32(ss, "s8.s8", "") K32(uu, "u8.u8", "") K32(su, "s8.u8", ".satfinite") K16(ss16, "s8.s8") K16(us16, "u8.s8") M8(ss8, "s8.s8") M8(uu8, "u8.u8")
KERNEL kernel(PARAMS) {
    u32 x = get(in, n, 0);
    Chains w(x);
    int c[2] = {}, d[4] = {0x7ffff000, 1, -0x7ffff000, 3}, e[4] = {};
    for (u32 r = 0; r < n >> 17; r++) {
        u32 a[4];
#pragma unroll
        for (int k = 0; k < 4; k++) a[k] = get(in, n, r * 8 + k);
        u32 b0 = get(in, n, r * 8 + 4), b1 = w.a;
        ss(e, a, b0, b1);
        su(d, a, b1, b0);
        w.step(e[0]);
        uu(e, a, b1, b0);
        ss16(e, a[0], a[3], b1);
        w.step(d[2]);
        us16(e, a[1], a[2], b0);
        ss8(c, a[0], b1);
        uu8(c, a[1], b0);
        w.step(c[0] ^ e[3]);
        if (d[0] > e[1]) d[1] ^= c[1];
    }
    out[gid()] = w.end() ^ fold(c) ^ fold(d) ^ fold(e);
}
