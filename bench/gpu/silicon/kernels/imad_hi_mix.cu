// High products with accumulate and carry: mad.hi, mul.hi, mul24, mad24: IMAD.HI, IMAD.HI.U32, IMAD.WIDE, IMAD.WIDE.U32, SGXT, PRMT, saturation with PLOP3.
// input: random
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned a[4], b[4];
#pragma unroll
    for (int k = 0; k < 4; k++) {
        a[k] = in[t + 2048 * k];
        b[k] = in[t + 2048 * (k + 4)];
    }
    for (int i = 0; i < 10; i++) {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            unsigned h, s, l, w, c;
            asm("mad.hi.u32 %0, %1, %2, %3;" : "=r"(h) : "r"(a[k]), "r"(b[k]), "r"(a[(k + 1) & 3]));
            asm("mad.hi.s32 %0, %1, %2, %3;" : "=r"(s) : "r"(a[k]), "r"(b[(k + 2) & 3]), "r"(h));
            asm("mad24.lo.s32 %0, %1, %2, %3;" : "=r"(l) : "r"(a[k]), "r"(s), "r"(h));
            asm("mul24.hi.u32 %0, %1, %2;" : "=r"(w) : "r"(l), "r"(b[k]));
            asm("mad.hi.sat.s32 %0, %1, %2, %3;" : "=r"(c) : "r"(w), "r"(l), "r"(s));
            const long long p = (long long)(int)s * (int)l + (long long)(int)w;
            const unsigned long long q = (unsigned long long)h * w + (unsigned long long)p;
            a[k] = (unsigned)(q >> 32) + (unsigned)p + c;
            b[k] = (unsigned)q ^ (unsigned)((unsigned long long)p >> 32);
        }
    }
#pragma unroll
    for (int k = 0; k < 4; k++) {
        out[t + 2048 * k] = a[k];
        out[t + 2048 * (k + 4)] = b[k];
    }
}
