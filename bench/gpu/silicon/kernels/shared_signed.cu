// Signed narrow shared loads through volatile pointers, and shared loads with uniform and scaled offsets: LDS.S8, LDS.S16, LDS.U8, LDS.U16, LDS [R.X4], LDS [R+UR], STS.U8, STS.U16, used at once by arithmetic of 16 and 32 bits.
// input: random
#define L(op, p) ({ int r; asm volatile(op " %0, [%1];" : "=r"(r) : "r"(p) : "memory"); r; })
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    __shared__ __align__(16) unsigned s[256 * 8];
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x, base = (unsigned)__cvta_generic_to_shared(s + threadIdx.x * 8);
    for (int k = 0; k < 8; k++) s[threadIdx.x * 8 + k] = in[t + 2048 * k];
    unsigned x = in[t];
    int sum = 0;
    for (int i = 0; i < 12; i++) {
        const int a = L("ld.shared.s8", base + (x & 31)), b = L("ld.shared.s16", base + (x >> 5 & 30)), c = L("ld.shared.u8", base + (x >> 10 & 31)), d = L("ld.shared.u16", base + (x >> 15 & 30)), e = L("ld.volatile.shared.s8", base + 5), f = L("ld.volatile.shared.s16", base + 18);
        asm volatile("st.shared.u8 [%0], %1;" :: "r"(base + (x >> 20 & 31)), "r"(a + c) : "memory");
        asm volatile("st.shared.u16 [%0], %1;" :: "r"(base + (x >> 24 & 30)), "r"(b * 3 + d) : "memory");
        const int g = L("ld.shared.s8", base + (x >> 21 & 31));
        sum = sum * 7 + a * b - c * d + e * f + g;
        if (a < g) sum ^= 0x1111;
        x = x * 0x9e3779b1u + (unsigned)sum;
    }
    for (int k = 0; k < 8; k++) sum = sum * 31 + (int)s[threadIdx.x * 8 + k];
    // Another thread's words, at scaled indices.
    __syncthreads();
    const unsigned u = s[(x & 255) * 8], v = s[(x >> 8 & 255) * 8 + (blockIdx.x & 7)];
    out[t] = (unsigned)sum + u;
    out[t + 2048] = x ^ v;
}
