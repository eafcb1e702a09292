// Large-argument reduction written out with a table of bits of 2/pi and an array indexed by the exponent: IMAD.WIDE.U32, SHF.L.W.U32.HI, FLO.U32, DMUL, I2F.F64.S64, F2F.F32.F64, chains of ISETP and selects.
// input: random
__constant__ unsigned digits[7] = {0x3c439041u, 0xdb629599u, 0xf534ddc0u, 0xfc2757d1u, 0x4e441529u, 0xa2f9836eu, 0};
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < 4; k++) {
        const unsigned raw = (in[t + 2048 * k] & 0x8fffffffu) | 0x50000000u, e = (raw >> 23 & 255) - 128, m = raw << 8 | 0x80000000u;
        unsigned result[8], hi = 0;
        for (int q = 0; q < 6; q++) {
            const unsigned long long p = (unsigned long long)digits[q] * m + hi;
            result[q] = (unsigned)p;
            hi = (unsigned)(p >> 32);
        }
        result[6] = hi;
        result[7] = raw;
        const unsigned q = 4 - (e >> 5) % 4 + 1, s = e & 31;
        unsigned a = result[q + 1], b = result[q];
        if (s) {
            a = __funnelshift_l(b, a, s);
            b = __funnelshift_l(result[q - 1], b, s);
        }
        const unsigned quadrant = (a >> 30) + (result[7] >> 31);
        unsigned long long f = ((unsigned long long)a << 32 | b) << 2;
        if ((long long)f < 0) f = ~f;
        const double d = (double)(long long)f * 1.4629180792671596e-9 * 5.8e-11;
        float r = (float)d;
        r = quadrant & 1 ? -r : r;
        const int lead = __clz(a | 1);
        out[t + 2048 * (4 * k)] = __float_as_uint(r);
        out[t + 2048 * (4 * k + 1)] = quadrant + lead * 256;
        out[t + 2048 * (4 * k + 2)] = a ^ b;
        out[t + 2048 * (4 * k + 3)] = result[e & 7];
    }
}
