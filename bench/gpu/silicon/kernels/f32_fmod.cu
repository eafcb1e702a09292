// fmodf, remainderf, remquof, modff, frexpf, ldexpf, nextafterf, fdimf, copysignf on any bit pattern: division loops of different lengths per lane, FRND.TRUNC, FFMA.RZ, F2I.U32.TRUNC.NTZ, VIADDMNMX, SHF, FSETP.LEU.
// input: random
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
    for (int k = 0; k < 3; k++) {
        const float x = __uint_as_float(in[t + 2048 * k]), y = __uint_as_float(in[t + 2048 * (k + 3)] & 0x9fffffffu), z = __uint_as_float(0x40000000u | (in[t + 2048 * (k + 6)] & 0x81ffffffu));
        int quotient, exponent;
        float whole;
        const float a = fmodf(x, y), b = remainderf(x, z), c = remquof(z, y, &quotient), d = modff(z, &whole), e = frexpf(y, &exponent);
        const float f = ldexpf(z, exponent - quotient), g = nextafterf(x, y), h = fdimf(a, b), i = copysignf(f, d), j = scalbnf(e, (int)(t & 255) - 128);
        out[t + 2048 * (6 * k)] = __float_as_uint(a);
        out[t + 2048 * (6 * k + 1)] = __float_as_uint(b);
        out[t + 2048 * (6 * k + 2)] = __float_as_uint(c) + (unsigned)quotient;
        out[t + 2048 * (6 * k + 3)] = __float_as_uint(d + whole) ^ __float_as_uint(g);
        out[t + 2048 * (6 * k + 4)] = __float_as_uint(i) + __float_as_uint(j);
        out[t + 2048 * (6 * k + 5)] = __float_as_uint(h);
    }
}
