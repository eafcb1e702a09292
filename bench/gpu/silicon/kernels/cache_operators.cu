// Global loads and stores with every cache operator and eviction hint, on a thread's own cells: LDG.E.STRONG, LDG.E.EF, LDG.E.LU, LDG.E.NA, STG.E.EF, STG.E.STRONG, .LTC128B, prefetch CCTL.E.PF2.
// input: random
#define L(op, d, p) asm volatile(op " %0, [%1];" : "=r"(d) : "l"(p))
#define S(op, p, v) asm volatile(op " [%0], %1;" :: "l"(p), "r"(v) : "memory")
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned sum = 0;
    for (int i = 0; i < 4; i++) {
        const unsigned* p = in + t + 32768 * i;
        unsigned* o = out + t + 32768 * i;
        unsigned a, b, c, d, e, f, g, h, j, k, l, m;
        L("ld.global.ca.u32", a, p);
        L("ld.global.cg.u32", b, p + 2048);
        L("ld.global.cs.u32", c, p + 4096);
        L("ld.global.lu.u32", d, p + 6144);
        L("ld.global.cv.u32", e, p + 8192);
        L("ld.global.nc.u32", f, p + 10240);
        L("ld.global.L1::no_allocate.u32", g, p + 12288);
        L("ld.global.L1::evict_last.L2::128B.u32", h, p + 14336);
        L("ld.global.L1::evict_first.u32", j, p + 16384);
        L("ld.global.nc.L1::no_allocate.L2::256B.u32", k, p + 18432);
        L("ld.volatile.global.u32", l, p + 20480);
        L("ld.global.L1::evict_unchanged.L2::64B.u32", m, p + 22528);
        asm volatile("prefetch.global.L2 [%0];" :: "l"(p + 32768));
        asm volatile("prefetch.global.L1 [%0];" :: "l"(p + 24576));
        asm volatile("prefetchu.L1 [%0];" :: "l"(p + 26624));
        asm volatile("prefetch.global.L2::evict_last [%0];" :: "l"(p + 28672));
        sum = sum * 31 + (a ^ b) + c * 3 + (d ^ e) + f * 5 + (g ^ h) + j * 7 + (k ^ l) + m;
        S("st.global.wb.u32", o, sum);
        S("st.global.cg.u32", o + 2048, a + sum);
        S("st.global.cs.u32", o + 4096, b ^ sum);
        S("st.global.wt.u32", o + 6144, c - sum);
        S("st.volatile.global.u32", o + 8192, d + sum);
        S("st.global.L1::no_allocate.u32", o + 10240, e ^ sum);
        S("st.global.L1::evict_last.u32", o + 12288, f ^ sum);
        L("ld.global.cv.u32", a, o + 8192);
        L("ld.global.u32", b, o);
        sum += a * 3 + b;
    }
    out[t + 262144] = sum;
}
