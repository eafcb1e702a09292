// Negated and absolute operands, immediates and constant-bank operands in many kinds of instruction: FADD, FMUL.D2, FMUL.D8, FFMA, FSETP, DADD, MUFU, HFMA2, IADD3, LOP3, ISETP, FSEL.
// input: float
#include <cuda_fp16.h>
__constant__ float kf[4] = {0.3f, -1.7f, 2.25f, 0.01f};
__constant__ double kd[2] = {0.7, -1.3};
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    float x[4];
#pragma unroll
    for (int k = 0; k < 4; k++) x[k] = __uint_as_float(in[t + 2048 * k]);
    double d = x[0];
    unsigned u = in[t + 8192];
    unsigned hash = 0;
    for (int i = 0; i < 4; i++) {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const float y = x[(k + 1) & 3];
            const float a = fabsf(x[k]) - y, b = -fabsf(y) * x[k], c = fmaf(-x[k], kf[k], fabsf(y)), e = (x[k] * y) * 0.5f, f = (a * b) * 0.25f, g = (c * y) * 0.125f, h = a * b * 2.0f;
            const float r = __frcp_rn(-fabsf(a) - 1.0f) + rsqrtf(fabsf(c) + 0.5f) + exp2f(-fabsf(b)) + __sinf(-a) + __log2f(fabsf(e) + 1.0f);
            const float sel = fabsf(a) > -c ? -b : fabsf(e);
            d = fabs(d) * -kd[k & 1] + (double)-sel;
            if (-d > fabs((double)a) * 0.5) d -= kd[0];
            const __half2 p = __floats2half2_rn(a, b), q = __hneg2(__lowhigh2highlow(p)), s = __hfma2(__high2half2(p), __habs2(q), __hneg2(p));
            u = (~u & __float_as_uint(sel)) - (u | 0x1234567u) - n;
            if ((int)u < (int)(n - 77 * k)) u ^= ~hash;
            hash = hash * 31 + *(const unsigned*)&s + __float_as_uint(f) - u + __float_as_uint(g) + __float_as_uint(h);
            x[k] = fminf(fmaxf(-r, -3.5f), fabsf(f + g) + 0.5f) - e * 0.0625f;
        }
    }
#pragma unroll
    for (int k = 0; k < 4; k++) out[t + 2048 * k] = __float_as_uint(x[k]);
    out[t + 8192] = hash;
    out[t + 10240] = u;
    ((double*)out)[t + 8192] = d;
}
