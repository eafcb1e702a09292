// Shifts of every kind by variables: SHF.L.W, SHF.R.W, SHF.L.U64.HI, SHF.R.S64, SHF.R.U64, SHF.R.S32.HI, SHF.L.U32.HI, clamped and wrapped.
// input: random
typedef unsigned long long u64;
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned a[4], b[4];
#pragma unroll
    for (int k = 0; k < 4; k++) {
        a[k] = in[t + 2048 * k];
        b[k] = in[t + 2048 * (k + 4)];
    }
    unsigned odd = 0;
    for (int i = 0; i < 8; i++) {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const unsigned s = b[(k + 1) & 3] & 63, x = a[k], y = b[k];
            const unsigned lw = __funnelshift_l(x, y, s), rw = __funnelshift_r(x, y, s);
            const unsigned lc = __funnelshift_lc(x, y, s), rc = __funnelshift_rc(x, y, s);
            const u64 w = (u64)x << 32 | y;
            const u64 left = w << s, right = w >> s;
            const long long arith = (long long)w >> s;
            unsigned sh, sa;
            asm("shl.b32 %0, %1, %2;" : "=r"(sh) : "r"(x), "r"(s));
            asm("shr.s32 %0, %1, %2;" : "=r"(sa) : "r"(y), "r"(s));
            a[k] = (lw ^ rw) + (unsigned)(left >> 32) - (unsigned)right + sh;
            b[k] = (lc + rc) ^ (unsigned)((u64)arith >> 32) ^ (unsigned)left ^ sa;
            if ((int)sa < (int)lc) odd += (unsigned)arith | 1u << (s & 31);
        }
    }
#pragma unroll
    for (int k = 0; k < 4; k++) {
        out[t + 2048 * k] = a[k] + odd;
        out[t + 2048 * (k + 4)] = b[k];
    }
}
