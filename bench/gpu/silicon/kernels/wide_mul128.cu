// 128-bit products out of 64-bit halves, four chains: IMAD.WIDE.U32, IMAD.WIDE.U32.X, IMAD.X, IADD3.X, ISETP.LT.AND.EX, SEL on carries.
// input: random
typedef unsigned long long u64;

extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    u64 lo[4], hi[4];
#pragma unroll
    for (int k = 0; k < 4; k++) {
        lo[k] = (u64)in[t + 2048 * k] << 32 | in[t + 2048 * (k + 4)];
        hi[k] = (u64)in[t + 2048 * (k + 8)] << 32 | in[t + 2048 * (k + 12)];
    }
    u64 carries = 0;
    for (int round = 0; round < 12; round++) {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const u64 a = lo[k] | 1, b = hi[k];
            const u64 low = a * b, high = __umul64hi(a, b);
            const u64 mixed = high + (u64)__mul64hi((long long)a, (long long)b);
            lo[k] = low + hi[(k + 1) & 3];
            const bool carry = lo[k] < low;
            hi[k] = mixed + carry;
            carries = carries * 2 + carry + (hi[k] < mixed ? 7 : 0);
            if (carry && (long long)hi[k] < (long long)low) hi[k] ^= carries;
        }
    }
#pragma unroll
    for (int k = 0; k < 4; k++) {
        out[t + 2048 * (4 * k)] = (unsigned)lo[k];
        out[t + 2048 * (4 * k + 1)] = (unsigned)(lo[k] >> 32);
        out[t + 2048 * (4 * k + 2)] = (unsigned)hi[k];
        out[t + 2048 * (4 * k + 3)] = (unsigned)(hi[k] >> 32);
    }
    if (carries & 1) out[t + 2048 * 16] = (unsigned)(carries >> 13);
}
