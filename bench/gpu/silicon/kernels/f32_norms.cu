// hypotf, rhypotf, norm3df, norm4df, rnorm3df, rnorm4df, normf over an array: FMNMX scaling, MUFU.RSQ, CALL.REL.NOINC, FSETP, VIMNMX, SHF on exponents.
// input: float
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    float v[8];
#pragma unroll
    for (int k = 0; k < 8; k++) v[k] = __uint_as_float(in[t + 2048 * k]);
    const float a = hypotf(v[0], v[1]), b = rhypotf(v[2], v[3]), c = norm3df(v[4], v[5], v[6]), d = norm4df(v[7], v[0], v[2], v[4]);
    const float e = rnorm3df(v[1], v[3], v[5]), f = rnorm4df(v[0], v[6], v[1], v[7]), g = normf((int)(in[t] & 7) + 1, v), h = rnormf((int)(in[t] >> 3 & 7) + 1, v);
    const float i = hypotf(v[0] * 1e30f, v[3] * 1e31f), j = hypotf(v[1] * 1e-30f, v[2] * 1e-38f);
    out[t] = __float_as_uint(a);
    out[t + 2048] = __float_as_uint(b);
    out[t + 4096] = __float_as_uint(c);
    out[t + 6144] = __float_as_uint(d < a ? e : f);
    out[t + 8192] = __float_as_uint(e + f);
    out[t + 10240] = __float_as_uint(g);
    out[t + 12288] = __float_as_uint(h);
    out[t + 14336] = __float_as_uint(i) ^ __float_as_uint(j);
}
