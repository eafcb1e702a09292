// Packed half and bfloat16 minima and maxima: plain, NaN, xorsign, relu, flushed, of three by nesting: HMNMX2, HMNMX2.NAN, HMNMX2.XORSIGN, HMNMX2.BF16_V2, abs and neg by LOP3 and HADD2.
// input: random
#define B(op, d, x, y) asm(op " %0, %1, %2;" : "=r"(d) : "r"(x), "r"(y))
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned a[4], b[4], hash = 0;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        a[k] = in[t + 2048 * k];
        b[k] = in[t + 2048 * (k + 4)];
    }
    for (int i = 0; i < 4; i++) {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            unsigned p, q, r, s, u, v, w, x, y, z;
            B("min.f16x2", p, a[k], b[k]);
            B("max.NaN.f16x2", q, p, b[k]);
            B("min.xorsign.abs.f16x2", r, p, a[(k + 1) & 3]);
            B("max.ftz.f16x2", s, r, q);
            B("max.NaN.xorsign.abs.f16x2", u, s, b[(k + 2) & 3]);
            B("min.bf16x2", v, s, a[k]);
            B("max.NaN.bf16x2", w, v, b[k]);
            B("min.xorsign.abs.bf16x2", x, w, u);
            asm("abs.f16x2 %0, %1;" : "=r"(y) : "r"(x));
            asm("neg.f16x2 %0, %1;" : "=r"(z) : "r"(y));
            asm("abs.bf16x2 %0, %1;" : "=r"(y) : "r"(z ^ v));
            asm("neg.bf16x2 %0, %1;" : "=r"(z) : "r"(y));
            hash = (hash << 7 | hash >> 25) + u + x * 3 + z;
            a[k] = r ^ w ^ (hash & 0x03ff03ffu);
            b[k] = q + (x >> 3) + hash;
        }
    }
#pragma unroll
    for (int k = 0; k < 4; k++) {
        out[t + 2048 * k] = a[k];
        out[t + 2048 * (k + 4)] = b[k];
    }
    out[t + 2048 * 8] = hash;
}
