// Modular exponentiation in 64 bits by Barrett and by shift-and-subtract: IMAD.WIDE.U32.X, IMAD.HI.U32, ISETP.GE.U32.AND.EX, SHF.L.U64.HI, SEL, loops on a bit test, CALL.REL.NOINC.
// input: random
typedef unsigned long long u64;
__device__ __forceinline__ u64 slow(u64 a, u64 b, u64 m) {
    u64 r = 0;
    for (int i = 0; i < 16; i++) {
        const bool over = r >= m - r;
        r = over ? r - (m - r) : r + r;
        if (b >> (63 - i) & 1) r = r >= m - a ? r - (m - a) : r + a;
    }
    return r;
}
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    const u64 m = ((u64)in[t] << 31 | in[t + 2048]) | 1ull << 62 | 1;
    const u64 inverse = ~0ull / m;
    u64 x[4], y[4];
#pragma unroll
    for (int k = 0; k < 4; k++) {
        x[k] = ((u64)in[t + 2048 * (k + 2)] << 20 | in[t + 2048 * (k + 6)]) % m;
        y[k] = 1;
    }
    unsigned e = in[t + 2048 * 10] & 0xfff;
    while (e) {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            if (e & 1) {
                const u64 p = y[k] * x[k], q = __umul64hi(p, inverse);
                u64 r = p - q * m;
                if (r >= m) r -= m;
                if (r >= m) r -= m;
                y[k] = r + __umul64hi(y[k], x[k]);
                if (y[k] >= m) y[k] -= m;
            }
            x[k] = slow(x[k], y[k] + x[k], m);
        }
        e >>= 1;
    }
#pragma unroll
    for (int k = 0; k < 4; k++) {
        out[t + 2048 * (4 * k)] = (unsigned)x[k];
        out[t + 2048 * (4 * k + 1)] = (unsigned)(x[k] >> 32);
        out[t + 2048 * (4 * k + 2)] = (unsigned)y[k];
        out[t + 2048 * (4 * k + 3)] = (unsigned)(y[k] >> 32);
    }
}
