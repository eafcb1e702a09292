// Binary gcd in 32 and 64 bits: BREV, FLO.U32, FLO.U32.SH, SHF.R.U64, ISETP.EX, swaps by SEL, loops of different lengths per lane.
// input: random
typedef unsigned long long u64;
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned a = in[t] | 1, b = in[t + 2048] >> 3, steps = 0;
    while (b) {
        b >>= __ffs((int)b) - 1;
        if (a > b) {
            const unsigned s = a;
            a = b;
            b = s;
        }
        b -= a;
        steps += __clz((int)b) + 1;
    }
    u64 c = ((u64)in[t + 4096] << 32 | in[t + 6144]) | 1, d = (u64)in[t + 8192] << 17 ^ in[t];
    while (d) {
        d >>= __ffsll((long long)d) - 1;
        const u64 low = c < d ? c : d, high = c < d ? d : c;
        c = low;
        d = high - low;
        steps = steps * 3 + __clzll((long long)d);
    }
    out[t] = a;
    out[t + 2048] = steps;
    out[t + 4096] = (unsigned)c;
    out[t + 6144] = (unsigned)(c >> 32);
}
