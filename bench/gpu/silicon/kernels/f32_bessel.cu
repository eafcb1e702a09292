// Bessel functions j0f, j1f, jnf, y0f, y1f, ynf, cyl_bessel_i0f, cyl_bessel_i1f: MUFU.RSQ, MUFU.RCP, FCHK, CALL.REL.NOINC, P2R, F2I.NTZ, I2F.F64.S64, long FFMA chains, loops.
// input: float
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    const float x = __uint_as_float(in[t]) * 8.0f, y = __uint_as_float(in[t + 2048]) * 3.0f;
    const float a = j0f(x), b = j1f(x), c = y0f(fabsf(y)), d = y1f(fabsf(x)), e = cyl_bessel_i0f(y), f = cyl_bessel_i1f(y), g = jnf(3, y), h = ynf(2, fabsf(x));
    out[t] = __float_as_uint(a);
    out[t + 2048] = __float_as_uint(b);
    out[t + 4096] = __float_as_uint(c);
    out[t + 6144] = __float_as_uint(d);
    out[t + 8192] = __float_as_uint(e < f ? g : h);
    out[t + 10240] = __float_as_uint(e + f);
    out[t + 12288] = __float_as_uint(g * h);
}
