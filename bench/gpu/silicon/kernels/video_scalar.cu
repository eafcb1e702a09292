// Scalar video instructions with byte selectors, saturation and a second operation, and what they become: PRMT, SHF.R.S64, ISETP.GT.AND.EX, LEA.HI.X.SX32, IMAD.X, SEL.
// input: random
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned a[4], b[4];
#pragma unroll
    for (int k = 0; k < 4; k++) {
        a[k] = in[t + 2048 * k];
        b[k] = in[t + 2048 * (k + 4)];
    }
    for (int i = 0; i < 4; i++) {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            unsigned x, y, z, w, p, q, r, s;
            asm("vadd.s32.s32.s32.sat.min %0, %1.b1, %2.h0, %3;" : "=r"(x) : "r"(a[k]), "r"(b[k]), "r"(a[(k + 1) & 3]));
            asm("vsub.u32.s32.u32.add %0, %1.h1, %2.b3, %3;" : "=r"(y) : "r"(a[k]), "r"(b[k]), "r"(x));
            asm("vabsdiff.u32.u32.u32.add %0, %1.b0, %2.b2, %3;" : "=r"(z) : "r"(b[k]), "r"(y), "r"(x));
            asm("vmin.s32.s32.s32 %0.b2, %1, %2, %3;" : "=r"(w) : "r"(z), "r"(y), "r"(b[k]));
            asm("vmax.u32.u32.u32.max %0, %1.h0, %2.h1, %3;" : "=r"(p) : "r"(w), "r"(x), "r"(z));
            asm("vshl.u32.u32.u32.clamp.add %0, %1.h0, %2.b0, %3;" : "=r"(q) : "r"(p), "r"(b[k]), "r"(w));
            asm("vset.s32.u32.lt.add %0, %1, %2, %3;" : "=r"(r) : "r"(q), "r"(p), "r"(a[k]));
            asm("vmad.s32.s32.s32.shr7 %0, %1.b1, %2.h1, %3;" : "=r"(s) : "r"(r), "r"(q), "r"(p));
            a[k] = (x + y * 3) ^ (q << 5) ^ s;
            b[k] = (z + w) ^ (r >> 3) ^ (p * 0x9e3779b1u) ^ (b[k] << 1);
        }
    }
#pragma unroll
    for (int k = 0; k < 4; k++) {
        out[t + 2048 * k] = a[k];
        out[t + 2048 * (k + 4)] = b[k];
    }
}
