// Packed half arithmetic: add, sub, mul, fma, saturated, relu, flushed, with swizzled halves: HADD2, HMUL2, HFMA2, HFMA2.MMA, HFMA2.RELU, HADD2.SAT, HFMA2.SAT, HMUL2.FTZ, HADD2.FTZ, HMNMX2.
// input: half
#define B(op, d, x, y) asm(op " %0, %1, %2;" : "=r"(d) : "r"(x), "r"(y))
#define T(op, d, x, y, z) asm(op " %0, %1, %2, %3;" : "=r"(d) : "r"(x), "r"(y), "r"(z))
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned a[4], b[4];
#pragma unroll
    for (int k = 0; k < 4; k++) {
        a[k] = in[t + 2048 * k];
        b[k] = in[t + 2048 * (k + 4)];
    }
    unsigned hash = 0;
    for (int i = 0; i < 4; i++) {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const unsigned c = a[(k + 1) & 3];
            unsigned p, q, r, s, u, v, w, x, y, z;
            B("add.rn.f16x2", p, a[k], b[k]);
            B("sub.rn.f16x2", q, b[k], c);
            B("mul.rn.f16x2", r, p, q);
            T("fma.rn.f16x2", s, a[k], c, r);
            T("fma.rn.relu.f16x2", u, s, b[k], q);
            B("add.sat.f16x2", v, s, u);
            B("mul.ftz.f16x2", w, v, c);
            T("fma.rn.sat.f16x2", x, w, p, v);
            B("add.ftz.f16x2", y, x, w);
            T("fma.rn.ftz.relu.f16x2", z, y, x, s);
            const unsigned low = __byte_perm(z, y, 0x5410), swapped = __byte_perm(u, u, 0x1032);
            unsigned e;
            T("fma.rn.f16x2", e, low, 0x34003400u, swapped);
            hash = hash * 31 + z + r;
            a[k] = e;
            B("min.f16x2", a[k], a[k], 0x44004400u);
            B("max.f16x2", a[k], a[k], 0xc400c400u);
            B("mul.rn.f16x2", b[k], v, 0x3c00bc00u);
            B("add.rn.f16x2", b[k], b[k], 0x2e003000u);
        }
    }
#pragma unroll
    for (int k = 0; k < 4; k++) {
        out[t + 2048 * k] = a[k];
        out[t + 2048 * (k + 4)] = b[k];
    }
    out[t + 2048 * 8] = hash;
}
