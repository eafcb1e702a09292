// Double arithmetic in the four rounding modes, minima and maxima, mixed precision and double-double sums: DADD.RM/.RP/.RZ, DMUL.RM/.RP/.RZ, DFMA.RM/.RP/.RZ, DSETP.MIN, DSETP.MAX, F2F.F64.F32, F2F.F32.F64.
// input: double
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    const double* din = (const double*)in;
    double* dout = (double*)out;
    double a = din[t], b = din[t + 2048], c = din[t + 4096], d = din[t + 6144];
    double hi = 0.0, lo = 0.0;
    float f = 0.0f;
    unsigned bits = 0;
    for (int i = 0; i < 5; i++) {
        const double p = __dadd_rd(a, b), q = __dadd_ru(a, b), r = __dadd_rz(c, d), s = __dadd_rn(c, d);
        const double u = __dmul_rd(p, c), v = __dmul_ru(q, d), w = __dmul_rz(r, a), x = __dmul_rn(s, b);
        const double e = __fma_rd(u, d, v), g = __fma_ru(w, x, a), h = __fma_rz(p, u, r);
        const double sum = __dadd_rn(hi, e), back = __dadd_rn(sum, -hi), error = __dadd_rn(__dadd_rn(hi, -__dadd_rn(sum, -back)), __dadd_rn(e, -back));
        hi = sum;
        lo += error + __fma_rn(u, v, -__dmul_rn(u, v));
        f = f * 0.5f + (float)g + __double2float_rz(h) - __double2float_ru(e);
        if (p < q) bits |= 1u << i;
        if (r != s) bits |= 256u << i;
        a = fmin(fmax(g, -3.0), 3.0) + (double)f * 1e-3;
        b = __drcp_rz(fabs(h) + 1.0) + __dsqrt_ru(fabs(e));
        c = __ddiv_rd(x, fabs(w) + 1.5);
        d = fmax(fmin(v, 3.5), -2.5) + lo;
    }
    dout[t] = a;
    dout[t + 2048] = b;
    dout[t + 4096] = c;
    dout[t + 6144] = d;
    dout[t + 8192] = hi;
    dout[t + 10240] = lo;
    out[t + 32768] = __float_as_uint(f);
    out[t + 34816] = bits;
}
