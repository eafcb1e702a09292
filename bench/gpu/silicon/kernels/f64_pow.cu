// pow in double over negative bases, integral and large exponents: MUFU.RCP64H, DFMA, DSETP chains, PLOP3.LUT, CALL.REL.NOINC, FRND.F64, FRND.F64.TRUNC, ISETP.EQ.AND.EX.
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
        r[0] = pow(fabs(x), y * 40.0);
        r[1] = pow(x, rint(y * 3.0));
        r[2] = pow(x, y);
        r[3] = pow(y * 1e-200, x);
        sum = sum * 0.5 + (r[0] < r[1] ? r[2] : r[3]);
#pragma unroll
        for (int j = 0; j < 4; j++) dout[t + 2048 * (4 * k + j)] = r[j];
    }
    dout[t + 2048 * 8] = sum;
}
