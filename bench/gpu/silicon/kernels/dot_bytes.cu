// Dot products of bytes and half words in every signedness: IDP.4A.S8.S8, IDP.4A.U8.U8, IDP.4A.S8.U8, IDP.4A.U8.S8, IDP.2A.LO, IDP.2A.HI.
// input: random
#define D4(ty, d, x, y, z) asm("dp4a." ty " %0, %1, %2, %3;" : "=r"(d) : "r"(x), "r"(y), "r"(z))
#define D2(ty, d, x, y, z) asm("dp2a." ty " %0, %1, %2, %3;" : "=r"(d) : "r"(x), "r"(y), "r"(z))
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned a[4], b[4];
#pragma unroll
    for (int k = 0; k < 4; k++) {
        a[k] = in[t + 2048 * k];
        b[k] = in[t + 2048 * (k + 4)];
    }
    unsigned negative = 0;
    for (int i = 0; i < 8; i++) {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            unsigned ss, uu, su, us, l, h, m, q;
            D4("s32.s32", ss, a[k], b[k], a[(k + 1) & 3]);
            D4("u32.u32", uu, a[k], b[k], ss);
            D4("s32.u32", su, b[k], a[k], uu);
            D4("u32.s32", us, a[k], uu, su);
            D2("lo.s32.s32", l, us, a[k], b[k]);
            D2("hi.u32.u32", h, ss, su, l);
            D2("lo.s32.u32", m, h, b[k], a[k]);
            D2("hi.u32.s32", q, us, l, m);
            a[k] = ss * 0x01000193u + l + q;
            b[k] = (us << 11) ^ (h >> 3) ^ (m * 0x85ebca6bu) ^ b[k];
            if ((int)ss < 0 && (int)q > 0) negative += uu;
        }
    }
#pragma unroll
    for (int k = 0; k < 4; k++) {
        out[t + 2048 * k] = a[k];
        out[t + 2048 * (k + 4)] = b[k] + negative;
    }
}
