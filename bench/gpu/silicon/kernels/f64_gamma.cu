// lgamma and tgamma in double with negative arguments: very long branches, MUFU.RCP64H, DFMA, FRND.F64.TRUNC, F2I.F64, CALL.REL.NOINC, DSETP.
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
        r[0] = lgamma(x * 5.0);
        r[1] = tgamma(y * 10.0);
        r[2] = lgamma(fabs(y) * 100.0);
        r[3] = tgamma(x + 0.1);
        sum = sum * 0.5 + (r[0] < r[1] ? r[2] : r[3]);
#pragma unroll
        for (int j = 0; j < 4; j++) dout[t + 2048 * (4 * k + j)] = r[j];
    }
    dout[t + 2048 * 8] = sum;
}
