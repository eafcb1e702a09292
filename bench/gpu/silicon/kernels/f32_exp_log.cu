// expf, exp2f, exp10f, expm1f, logf, log2f, log10f, log1pf, logbf, ilogbf, four at once: MUFU.EX2, FFMA.SAT, FFMA.RM, FADD.RZ, FLO.U32, FSETP, FSEL, I2FP.F32.S32.
// input: float
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    float x[4];
#pragma unroll
    for (int k = 0; k < 4; k++) x[k] = __uint_as_float(in[t + 2048 * k]);
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const float e = expf(x[k] * 20.0f), f = exp2f(x[(k + 1) & 3] * 33.0f), g = exp10f(x[k] * 9.5f), h = expm1f(x[k] * 0.3f);
        const float l = logf(fabsf(x[k]) * e), m = log2f(f + 1e-30f), o = log10f(fabsf(g)), p = log1pf(h);
        const float b = logbf(e), r = (float)ilogbf(x[k] * f);
        const float sum = l - m * 0.5f + o;
        out[t + 2048 * (4 * k)] = __float_as_uint(e);
        out[t + 2048 * (4 * k + 1)] = __float_as_uint(sum > p ? f : g);
        out[t + 2048 * (4 * k + 2)] = __float_as_uint(sum + b);
        out[t + 2048 * (4 * k + 3)] = __float_as_uint(p * r);
    }
}
