// Byte permutation in every mode with variable and constant selectors: PRMT, PRMT.F4E, PRMT.B4E, PRMT.RC8, PRMT.ECL, PRMT.ECR, PRMT.RC16.
// input: random
#define P(mode, d, x, y, s) asm("prmt.b32" mode " %0, %1, %2, %3;" : "=r"(d) : "r"(x), "r"(y), "r"(s))
#define Q(mode, d, x, s) asm("prmt.b32" mode " %0, %1, 0, %2;" : "=r"(d) : "r"(x), "r"(s))
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned a[4], b[4];
#pragma unroll
    for (int k = 0; k < 4; k++) {
        a[k] = in[t + 2048 * k];
        b[k] = in[t + 2048 * (k + 4)];
    }
    for (int i = 0; i < 6; i++) {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            unsigned g, f, r8, r16, b4, el, er;
            P("", g, a[k], b[k], a[(k + 1) & 3]);
            P(".f4e", f, a[k], b[k], b[(k + 1) & 3]);
            P(".b4e", b4, a[k], b[k], g);
            Q(".rc8", r8, b[k], a[k] >> 3);
            Q(".ecl", el, f, b[k]);
            Q(".ecr", er, g, b4);
            Q(".rc16", r16, a[k], f);
            const unsigned fixed = __byte_perm(a[k], b[k], 0x3715), sign = __byte_perm(a[k], b[k], 0xba98 + i);
            a[k] = (g + f) ^ (r8 - el) ^ fixed;
            b[k] = (b4 ^ er) + (r16 ^ sign) + 0x9e3779b9u;
        }
    }
#pragma unroll
    for (int k = 0; k < 4; k++) {
        out[t + 2048 * k] = a[k];
        out[t + 2048 * (k + 4)] = b[k];
    }
}
