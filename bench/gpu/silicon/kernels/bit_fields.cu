// Bit fields: bfe, bfi, bmsk, szext in 32 and 64 bits: BMSK, SGXT, SGXT.U32, SHF, LOP3.LUT, PRMT.
// input: random
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
            const unsigned p = b[(k + 1) & 3] & 31, l = a[(k + 1) & 3] & 31;
            unsigned u, s, f, m, w, z, y;
            unsigned long long q, r, d = (unsigned long long)a[k] << 32 | b[k];
            asm("bfe.u32 %0, %1, %2, %3;" : "=r"(u) : "r"(a[k]), "r"(p), "r"(l));
            asm("bfe.s32 %0, %1, %2, %3;" : "=r"(s) : "r"(b[k]), "r"(p), "r"(l));
            asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(f) : "r"(u), "r"(a[k]), "r"(p), "r"(l));
            asm("bmsk.clamp.b32 %0, %1, %2;" : "=r"(m) : "r"(p), "r"(l));
            asm("bmsk.wrap.b32 %0, %1, %2;" : "=r"(w) : "r"(p + 40), "r"(l + 33));
            asm("szext.clamp.s32 %0, %1, %2;" : "=r"(z) : "r"(s ^ u), "r"(l));
            asm("szext.wrap.u32 %0, %1, %2;" : "=r"(y) : "r"(f), "r"(b[k]));
            asm("bfe.s64 %0, %1, %2, %3;" : "=l"(q) : "l"(d), "r"(p + 13), "r"(l + 9));
            asm("bfi.b64 %0, %1, %2, %3, %4;" : "=l"(r) : "l"(d), "l"(q), "r"(l + 11), "r"(p));
            a[k] += (u & m) | (f & ~w);
            b[k] = (z - y) ^ (unsigned)r ^ (unsigned)(q >> 32) ^ (unsigned)(r >> 32);
        }
    }
#pragma unroll
    for (int k = 0; k < 4; k++) {
        out[t + 2048 * k] = a[k];
        out[t + 2048 * (k + 4)] = b[k];
    }
}
