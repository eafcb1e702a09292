// Division, reciprocal, square root and reciprocal square root, rounded correctly, with their checked slow paths: FCHK, MUFU.RCP, MUFU.RSQ, CALL.REL.NOINC, RET.REL.NODEC, FFMA.RM, FFMA.RP, FFMA.RZ, FADD.FTZ, FMUL.FTZ.
// input: random
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    float x[4], y[4];
#pragma unroll
    for (int k = 0; k < 4; k++) {
        x[k] = __uint_as_float(in[t + 2048 * k]);
        y[k] = __uint_as_float(in[t + 2048 * (k + 4)]);
    }
    unsigned specials = 0;
    for (int i = 0; i < 3; i++) {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const float q = x[k] / y[k], r = sqrtf(fabsf(y[k])), s = 1.0f / x[k], u = rsqrtf(fabsf(x[k]));
            if (isnan(q) || isinf(s)) specials += 1u << (4 * k);
            x[k] = q + s * 0.5f;
            y[k] = u < 1.0f ? r : u - r;
            out[t + 2048 * (8 + k)] = __float_as_uint(q);
        }
    }
#pragma unroll
    for (int k = 0; k < 4; k++) {
        out[t + 2048 * k] = __float_as_uint(x[k]);
        out[t + 2048 * (k + 4)] = __float_as_uint(y[k]);
    }
    out[t + 2048 * 12] = specials;
}
