// log, log2, log10, log1p in double with zero, negative and subnormal arguments: MUFU.RCP64H, DFMA, DMUL.RP, ISETP, DSETP, FSEL, VIADDMNMX, CALL.REL.NOINC, branches to the special cases.
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
        r[0] = log(fabs(x) * 1e-307 * (k ? 1e300 : 1e-10));
        r[1] = log2(y);
        r[2] = log10(x * y);
        r[3] = log1p(y * 0.26);
        sum = sum * 0.5 + (r[0] < r[1] ? r[2] : r[3]);
#pragma unroll
        for (int j = 0; j < 4; j++) dout[t + 2048 * (4 * k + j)] = r[j];
    }
    dout[t + 2048 * 8] = sum;
}
