// Counting and finding bits in 32 and 64 bits; results guard stores and branches: BREV, FLO.U32, FLO, FLO.U32.SH, FLO.SH, POPC.
// input: random
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned a[4];
#pragma unroll
    for (int k = 0; k < 4; k++) a[k] = in[t + 2048 * k] >> (3 * k);
    unsigned total = 0;
    for (int i = 0; i < 8; i++) {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            unsigned f, g, h, j, p = __popc(a[k]), r = __brev(a[k]);
            asm("bfind.u32 %0, %1;" : "=r"(f) : "r"(a[k]));
            asm("bfind.s32 %0, %1;" : "=r"(g) : "r"(r));
            asm("bfind.shiftamt.u32 %0, %1;" : "=r"(h) : "r"(a[k] ^ r));
            asm("bfind.shiftamt.s32 %0, %1;" : "=r"(j) : "r"(a[k] + r));
            const unsigned long long d = (unsigned long long)a[k] << (f & 31) << 7 | r;
            const int z = __clzll((long long)d), e = __ffsll((long long)d), q = __popcll(d);
            const unsigned long long b = __brevll(d + q);
            a[k] = (a[k] << (h & 31)) ^ (r >> (j & 15)) ^ (p << 24) ^ (unsigned)(b >> 32) ^ (unsigned)b;
            total += f * 3 + (g ^ z) + (e << k);
            if (p > 16 && z < 2) out[t + 2048 * (8 + k)] = total;
            if (j > h) total ^= 0x55;
        }
        if (__popc(total) == 9) break;
    }
#pragma unroll
    for (int k = 0; k < 4; k++) out[t + 2048 * k] = a[k];
    out[t + 8192] = total;
}
