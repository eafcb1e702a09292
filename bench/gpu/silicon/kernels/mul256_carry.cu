// 256-bit by 256-bit products with mad.cc carries: IMAD.WIDE.U32, IMAD.HI.U32, IADD3.X, IMAD.X and carries in predicates.
// input: random
__device__ __forceinline__ void row(unsigned* r, const unsigned* a, unsigned b) {
    asm("mad.lo.cc.u32 %0, %9, %17, %0;\n\t"
        "madc.lo.cc.u32 %1, %10, %17, %1;\n\t"
        "madc.lo.cc.u32 %2, %11, %17, %2;\n\t"
        "madc.lo.cc.u32 %3, %12, %17, %3;\n\t"
        "madc.lo.cc.u32 %4, %13, %17, %4;\n\t"
        "madc.lo.cc.u32 %5, %14, %17, %5;\n\t"
        "madc.lo.cc.u32 %6, %15, %17, %6;\n\t"
        "madc.lo.cc.u32 %7, %16, %17, %7;\n\t"
        "addc.u32 %8, %8, 0;"
        : "+r"(r[0]), "+r"(r[1]), "+r"(r[2]), "+r"(r[3]), "+r"(r[4]), "+r"(r[5]), "+r"(r[6]), "+r"(r[7]), "+r"(r[8])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]), "r"(a[5]), "r"(a[6]), "r"(a[7]), "r"(b));
    asm("mad.hi.cc.u32 %0, %8, %16, %0;\n\t"
        "madc.hi.cc.u32 %1, %9, %16, %1;\n\t"
        "madc.hi.cc.u32 %2, %10, %16, %2;\n\t"
        "madc.hi.cc.u32 %3, %11, %16, %3;\n\t"
        "madc.hi.cc.u32 %4, %12, %16, %4;\n\t"
        "madc.hi.cc.u32 %5, %13, %16, %5;\n\t"
        "madc.hi.cc.u32 %6, %14, %16, %6;\n\t"
        "madc.hi.u32 %7, %15, %16, %7;"
        : "+r"(r[1]), "+r"(r[2]), "+r"(r[3]), "+r"(r[4]), "+r"(r[5]), "+r"(r[6]), "+r"(r[7]), "+r"(r[8])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]), "r"(a[5]), "r"(a[6]), "r"(a[7]), "r"(b));
}

extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned a[8], b[8], r[17];
#pragma unroll
    for (int k = 0; k < 8; k++) {
        a[k] = in[t + 2048 * k];
        b[k] = in[t + 2048 * (k + 8)];
    }
    for (int round = 0; round < 3; round++) {
#pragma unroll
        for (int k = 0; k < 17; k++) r[k] = 0;
#pragma unroll
        for (int k = 0; k < 8; k++) row(r + k, a, b[k]);
#pragma unroll
        for (int k = 0; k < 8; k++) {
            a[k] = r[k] ^ r[15 - k];
            b[k] = r[8 + k];
        }
    }
#pragma unroll
    for (int k = 0; k < 16; k++) out[t + 2048 * k] = r[k];
}
