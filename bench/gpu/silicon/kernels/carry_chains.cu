// Four interleaved 256-bit additions and subtractions; the last carry drives a select, a guarded store and a branch: IADD3.X with two carries, IADD3 with a predicate out.
// input: random
__device__ __forceinline__ unsigned add8(unsigned* a, const unsigned* b) {
    unsigned c;
    asm("add.cc.u32 %0, %0, %9;\n\taddc.cc.u32 %1, %1, %10;\n\taddc.cc.u32 %2, %2, %11;\n\taddc.cc.u32 %3, %3, %12;\n\t"
        "addc.cc.u32 %4, %4, %13;\n\taddc.cc.u32 %5, %5, %14;\n\taddc.cc.u32 %6, %6, %15;\n\taddc.cc.u32 %7, %7, %16;\n\taddc.u32 %8, 0, 0;"
        : "+r"(a[0]), "+r"(a[1]), "+r"(a[2]), "+r"(a[3]), "+r"(a[4]), "+r"(a[5]), "+r"(a[6]), "+r"(a[7]), "=r"(c)
        : "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(b[4]), "r"(b[5]), "r"(b[6]), "r"(b[7]));
    return c;
}
__device__ __forceinline__ unsigned sub8(unsigned* a, const unsigned* b) {
    unsigned c;
    asm("sub.cc.u32 %0, %0, %9;\n\tsubc.cc.u32 %1, %1, %10;\n\tsubc.cc.u32 %2, %2, %11;\n\tsubc.cc.u32 %3, %3, %12;\n\t"
        "subc.cc.u32 %4, %4, %13;\n\tsubc.cc.u32 %5, %5, %14;\n\tsubc.cc.u32 %6, %6, %15;\n\tsubc.cc.u32 %7, %7, %16;\n\tsubc.u32 %8, 0, 0;"
        : "+r"(a[0]), "+r"(a[1]), "+r"(a[2]), "+r"(a[3]), "+r"(a[4]), "+r"(a[5]), "+r"(a[6]), "+r"(a[7]), "=r"(c)
        : "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(b[4]), "r"(b[5]), "r"(b[6]), "r"(b[7]));
    return c;
}

extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned v[4][8];
#pragma unroll
    for (int k = 0; k < 32; k++) v[k / 8][k % 8] = in[t + 2048 * k];
    unsigned sum = 0;
    for (int i = 0; i < 8; i++) {
        const unsigned c0 = add8(v[0], v[1]), c1 = sub8(v[2], v[3]);
        const unsigned c2 = add8(v[3], v[0]), c3 = sub8(v[1], v[2]);
        sum = sum * 5 + c0 + 2 * c1 + 3 * c2 + 7 * c3;
        if (c0) v[2][i & 1] ^= sum;
        v[3][7] = c1 ? v[3][7] >> 1 : v[3][7] + v[0][0];
        if (c3 && !c2) out[t + 2048 * (32 + i)] = v[1][3];
    }
#pragma unroll
    for (int k = 0; k < 32; k++) out[t + 2048 * k] = v[k / 8][k % 8] + sum;
}
