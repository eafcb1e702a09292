// Saturating integer arithmetic, averages and sums of differences: add.sat, sub.sat, hadd, rhadd, sad: VABSDIFF, VABSDIFF.U32, IMAD.HI, LEA.HI, PLOP3.LUT, SEL.
// input: random
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    int a[4], b[4];
#pragma unroll
    for (int k = 0; k < 4; k++) {
        a[k] = (int)in[t + 2048 * k];
        b[k] = (int)in[t + 2048 * (k + 4)];
    }
    for (int i = 0; i < 8; i++) {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            int x, y, m;
            asm("add.sat.s32 %0, %1, %2;" : "=r"(x) : "r"(a[k]), "r"(b[k]));
            asm("sub.sat.s32 %0, %1, %2;" : "=r"(y) : "r"(b[k]), "r"(a[(k + 1) & 3]));
            asm("mad.hi.sat.s32 %0, %1, %2, %3;" : "=r"(m) : "r"(x), "r"(y), "r"(b[(k + 3) & 3]));
            const int h = __hadd(a[k], y), r = __rhadd(b[k], x);
            const unsigned u = __uhadd((unsigned)x, (unsigned)y), v = __urhadd((unsigned)m, (unsigned)h);
            const unsigned s = __sad(x, r, u), w = __usad(u, v, (unsigned)h);
            a[k] = (int)(s ^ (w << 7)) + m;
            b[k] = (h ^ r) * 77 + (int)v;
            if (x == 0x7fffffff || y == (int)0x80000000) b[k] ^= 0x13579bdf;
        }
    }
#pragma unroll
    for (int k = 0; k < 4; k++) {
        out[t + 2048 * k] = (unsigned)a[k];
        out[t + 2048 * (k + 4)] = (unsigned)b[k];
    }
}
