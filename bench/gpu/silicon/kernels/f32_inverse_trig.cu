// asinf, acosf, atanf, atan2f, sinhf, coshf, tanhf, asinhf, acoshf, atanhf: MUFU.RSQ, MUFU.RCP, MUFU.EX2, FSETP, FSEL, FCHK with its call, LOP3 on signs.
// input: float
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
    for (int k = 0; k < 3; k++) {
        const float x = __uint_as_float(in[t + 2048 * k]), y = __uint_as_float(in[t + 2048 * (k + 3)]), z = x * 0.26f;
        const float a = asinf(z), b = acosf(z), c = atanf(y), d = atan2f(x, y);
        const float e = sinhf(y), f = coshf(x), g = tanhf(x), h = asinhf(y), i = acoshf(fabsf(x) + 0.9f), j = atanhf(z);
        out[t + 2048 * (5 * k)] = __float_as_uint(a + h);
        out[t + 2048 * (5 * k + 1)] = __float_as_uint(b * c);
        out[t + 2048 * (5 * k + 2)] = __float_as_uint(d < e ? f : g);
        out[t + 2048 * (5 * k + 3)] = __float_as_uint(g - i);
        out[t + 2048 * (5 * k + 4)] = __float_as_uint(j + d);
    }
}
