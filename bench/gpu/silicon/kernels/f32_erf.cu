// erff, erfcf, erfcxf, erfinvf, erfcinvf, normcdff, normcdfinvf: FFMA chains with FSEL of coefficients, MUFU.EX2, MUFU.RCP, MUFU.LG2, MUFU.RSQ, FSETP.
// input: float
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const float x = __uint_as_float(in[t + 2048 * k]), y = x * 0.249f;
        const float a = erff(x), b = erfcf(x * 1.7f), c = erfcxf(x), d = erfinvf(y), e = erfcinvf(1.0f + y), f = normcdff(x), g = normcdfinvf(0.5f + y * 0.5f);
        sum = sum * 0.5f + (a > b ? d : e) + (f < 0.3f ? g : c);
        out[t + 2048 * (4 * k)] = __float_as_uint(a + b);
        out[t + 2048 * (4 * k + 1)] = __float_as_uint(c * d);
        out[t + 2048 * (4 * k + 2)] = __float_as_uint(e - f);
        out[t + 2048 * (4 * k + 3)] = __float_as_uint(g + sum);
    }
}
