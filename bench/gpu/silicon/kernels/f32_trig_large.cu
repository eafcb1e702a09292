// sinf, cosf, tanf, sincosf of small and of huge arguments; the huge ones take the slow path: F2I.NTZ, IMAD.WIDE.U32, SHF.L.U32.HI, I2F.F64.S64, DMUL, F2F.F32.F64, FSEL, FRND, BSSY.
// input: random
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
    for (int k = 0; k < 3; k++) {
        const float x = __uint_as_float(in[t + 2048 * k] & 0xc8ffffffu), y = __uint_as_float(in[t + 2048 * (k + 3)]);
        float s, c;
        sincosf(y, &s, &c);
        const float a = sinf(x), b = cosf(y + x), d = tanf(x * 3.0f);
        out[t + 2048 * (5 * k)] = __float_as_uint(a);
        out[t + 2048 * (5 * k + 1)] = __float_as_uint(b + s);
        out[t + 2048 * (5 * k + 2)] = __float_as_uint(d);
        out[t + 2048 * (5 * k + 3)] = __float_as_uint(s * c);
        out[t + 2048 * (5 * k + 4)] = __float_as_uint(a < b ? sinpif(x) : cospif(x));
    }
}
