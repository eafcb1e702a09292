// Products of half bytes, which this machine does in several steps: IMMA
#include "matrix.cuh"
#define K64(NAME, T) \
    DEV void NAME(int (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) { \
        asm volatile("mma.sync.aligned.m16n8k64.row.col.s32." T ".s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
                     : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1)); \
    }
K64(ss, "s4.s4") K64(uu, "u4.u4")
DEV void m8(int (&d)[2], u32 a, u32 b) { asm volatile("mma.sync.aligned.m8n8k32.row.col.s32.s4.s4.s32 {%0,%1}, {%2}, {%3}, {%0,%1};" : "+r"(d[0]), "+r"(d[1]) : "r"(a), "r"(b)); }
KERNEL kernel(PARAMS) {
    u32 x = get(in, n, 0);
    Chains w(x);
    int c[2] = {}, d[4] = {}, e[4] = {};
    for (u32 r = 0; r < n >> 18; r++) {
        u32 a[4];
#pragma unroll
        for (int k = 0; k < 4; k++) a[k] = get(in, n, r * 8 + k);
        u32 b0 = get(in, n, r * 8 + 4), b1 = w.a;
        ss(d, a, b0, b1);
        w.step(d[0]);
        uu(e, a, b1, b0);
        m8(c, a[2], b0);
        w.step(c[1] ^ e[1]);
    }
    out[gid()] = w.end() ^ fold(c) ^ fold(d) ^ fold(e);
}
