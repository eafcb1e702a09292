// Montgomery products modulo a 256-bit prime with a final conditional subtraction: IMAD.WIDE.U32, IMAD.HI.U32, IADD3.X, IMAD.X, SEL on a borrow.
// input: random
typedef unsigned long long u64;
__constant__ unsigned prime[8] = {0xfffffc2fu, 0xfffffffeu, 0xffffffffu, 0xffffffffu, 0xffffffffu, 0xffffffffu, 0xffffffffu, 0xffffffffu};

__device__ __forceinline__ void product(unsigned* a, const unsigned* b) {
    unsigned t[9] = {0};
#pragma unroll
    for (int i = 0; i < 8; i++) {
        u64 c = 0;
#pragma unroll
        for (int j = 0; j < 8; j++) {
            c += (u64)a[j] * b[i] + t[j];
            t[j] = (unsigned)c;
            c >>= 32;
        }
        const u64 top = (u64)t[8] + c;
        const unsigned m = t[0] * 0xd2253531u;
        c = ((u64)m * prime[0] + t[0]) >> 32;
#pragma unroll
        for (int j = 1; j < 8; j++) {
            c += (u64)m * prime[j] + t[j];
            t[j - 1] = (unsigned)c;
            c >>= 32;
        }
        c += top;
        t[7] = (unsigned)c;
        t[8] = (unsigned)(c >> 32);
    }
    unsigned s[8], borrow;
    asm("sub.cc.u32 %0, %9, %17;\n\tsubc.cc.u32 %1, %10, %18;\n\tsubc.cc.u32 %2, %11, %19;\n\tsubc.cc.u32 %3, %12, %20;\n\t"
        "subc.cc.u32 %4, %13, %21;\n\tsubc.cc.u32 %5, %14, %22;\n\tsubc.cc.u32 %6, %15, %23;\n\tsubc.cc.u32 %7, %16, %24;\n\tsubc.u32 %8, %25, 0;"
        : "=r"(s[0]), "=r"(s[1]), "=r"(s[2]), "=r"(s[3]), "=r"(s[4]), "=r"(s[5]), "=r"(s[6]), "=r"(s[7]), "=r"(borrow)
        : "r"(t[0]), "r"(t[1]), "r"(t[2]), "r"(t[3]), "r"(t[4]), "r"(t[5]), "r"(t[6]), "r"(t[7]), "r"(prime[0]), "r"(prime[1]),
          "r"(prime[2]), "r"(prime[3]), "r"(prime[4]), "r"(prime[5]), "r"(prime[6]), "r"(prime[7]), "r"(t[8]));
#pragma unroll
    for (int j = 0; j < 8; j++) a[j] = (int)borrow < 0 ? t[j] : s[j];
}

extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned a[8], b[8];
#pragma unroll
    for (int k = 0; k < 8; k++) {
        a[k] = in[t + 2048 * k];
        b[k] = in[t + 2048 * (k + 8)];
    }
    for (int i = 0; i < 4; i++) {
        product(a, b);
        product(b, a);
    }
#pragma unroll
    for (int k = 0; k < 8; k++) {
        out[t + 2048 * k] = a[k];
        out[t + 2048 * (k + 8)] = b[k];
    }
}
