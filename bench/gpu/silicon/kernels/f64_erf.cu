// erf, erfc, erfcx, erfinv, erfcinv, normcdf, normcdfinv in double: DFMA chains, MUFU.RCP64H, MUFU.RSQ64H, DSETP, FSEL, LDC.64.
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
        r[0] = erf(x) + erfcinv(1.0 + y * 0.2);
        r[1] = erfc(y * 2.0) - normcdfinv(0.5 + x * 0.12);
        r[2] = erfcx(x) + normcdf(y * 4.0);
        r[3] = erfinv(y * 0.25);
        sum = sum * 0.5 + (r[0] < r[1] ? r[2] : r[3]);
#pragma unroll
        for (int j = 0; j < 4; j++) dout[t + 2048 * (4 * k + j)] = r[j];
    }
    dout[t + 2048 * 8] = sum;
}
