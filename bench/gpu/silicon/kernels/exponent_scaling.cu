// Building doubles and floats from exponent and fraction with 64-bit adds and variable shifts, normalising subnormals by hand: IMAD.U32.X, LEA with a carry, SHF.L.U64.HI, SHF.R.U64, DMUL, guarded shifts.
// input: random
typedef unsigned long long u64;
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    double* dout = (double*)out;
    double acc = 0.0;
    float low = 0.0f;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const u64 raw = (u64)in[t + 2048 * k] << 32 | in[t + 2048 * (k + 4)];
        u64 m = raw & 0x000fffffffffffffull;
        int e = (int)(raw >> 52 & 2047) - (int)(in[t + 2048 * (k + 8)] & 2047);
        if (e <= 0) {
            const double up = __longlong_as_double((long long)(m | 1)) * 18014398509481984.0;
            const int shift = 55 - (int)((u64)__double_as_longlong(up) >> 52);
            m <<= shift & 63;
            e -= shift;
        } else {
            m |= 0x0010000000000000ull;
        }
        u64 bits = m + ((u64)(unsigned)(e - 1) << 52);
        if (e < 1) bits = m >> (1 - e & 63);
        const double v = __longlong_as_double((long long)(bits & 0x7fffffffffffffffull));
        unsigned f = (unsigned)(m >> 29) + ((unsigned)(e & 255) << 23);
        if ((e & 255) == 0) f = (unsigned)(m >> 29) >> (e & 7);
        low = low * 0.5f + __uint_as_float(f & 0x7effffffu);
        acc = acc * 0.5 + (v < 1e300 ? v : 1.0);
        dout[t + 2048 * k] = v;
        out[t + 65536 + 2048 * k] = f;
    }
    dout[t + 2048 * 4] = acc;
    out[t + 65536 + 2048 * 4] = __float_as_uint(low);
}
