// j0, j1, jn, y0, y1, cyl_bessel_i0 in double: long DFMA chains behind branches, MUFU.RSQ64H, MUFU.RCP64H, CALL.REL.NOINC, STL, LDL.
// input: double
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    const double* din = (const double*)in;
    double* dout = (double*)out;
    double sum = 0.0;
#pragma unroll
    for (int k = 0; k < 2; k++) {
        const double x = din[t + 2048 * k], y = din[t + 2048 * (k + 2)];
        double r[4];
        r[0] = j0(x * 5.0) + y0(fabs(y) * 4.0);
        r[1] = j1(y * 5.0) + cyl_bessel_i0(x);
        r[2] = y1(fabs(x) * 6.0) + cyl_bessel_i1(y);
        r[3] = jn(2, y * 2.0);
        sum = sum * 0.5 + (r[0] < r[1] ? r[2] : r[3]);
#pragma unroll
        for (int j = 0; j < 4; j++) dout[t + 2048 * (4 * k + j)] = r[j];
    }
    dout[t + 2048 * 8] = sum;
}
