// exp, exp2, exp10, expm1 in double, small and overflowing: DFMA chains, DADD, DSETP, SHF and LEA on exponents, FSEL, constants from UMOV.
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
        r[0] = exp(x * 180.0);
        r[1] = exp2(y * 260.0);
        r[2] = exp10(x * 78.0);
        r[3] = expm1(y * 0.25);
        sum = sum * 0.5 + (r[0] < r[1] ? r[2] : r[3]);
#pragma unroll
        for (int j = 0; j < 4; j++) dout[t + 2048 * (4 * k + j)] = r[j];
    }
    dout[t + 2048 * 8] = sum;
}
