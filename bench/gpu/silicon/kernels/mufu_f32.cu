// Every single-precision MUFU in a mix of independent and dependent chains: MUFU.RCP, MUFU.RSQ, MUFU.SQRT, MUFU.EX2, MUFU.LG2, MUFU.SIN, MUFU.COS, MUFU.TANH, FMUL.RZ, guards made of their results.
// input: float
#define U(op, d, s) asm(op " %0, %1;" : "=f"(d) : "f"(s))
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    float x[4];
#pragma unroll
    for (int k = 0; k < 4; k++) x[k] = __uint_as_float(in[t + 2048 * k]);
    unsigned count = 0;
    for (int i = 0; i < 4; i++) {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            float r, q, s, e, l, a, b, h;
            U("rcp.approx.ftz.f32", r, x[k] + 4.5f);
            U("rsqrt.approx.ftz.f32", q, x[(k + 1) & 3] * x[k] + 17.0f);
            U("sqrt.approx.ftz.f32", s, r + 0.25f);
            U("ex2.approx.ftz.f32", e, q);
            U("lg2.approx.ftz.f32", l, s);
            U("sin.approx.ftz.f32", a, x[k]);
            U("cos.approx.ftz.f32", b, l + e);
            U("tanh.approx.f32", h, a * 3.0f);
            if (h > b) count += 1;
            if (e < 1.0625f) out[t + 2048 * (8 + k)] = __float_as_uint(a);
            x[k] = h * 2.0f + b * (a < 0.0f ? e : l);
        }
    }
#pragma unroll
    for (int k = 0; k < 4; k++) out[t + 2048 * k] = __float_as_uint(x[k]);
    out[t + 8192] = count;
}
