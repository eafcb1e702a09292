// sinh, cosh, tanh, asinh, acosh, atanh in double: DFMA, DADD, MUFU.RCP64H, MUFU.RSQ64H, DSETP, DMUL, LOP3 on the sign.
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
        r[0] = sinh(x) + asinh(y * 1e10);
        r[1] = cosh(y * 3.0) - acosh(fabs(x) + 0.5);
        r[2] = tanh(x);
        r[3] = atanh(y * 0.26);
        sum = sum * 0.5 + (r[0] < r[1] ? r[2] : r[3]);
#pragma unroll
        for (int j = 0; j < 4; j++) dout[t + 2048 * (4 * k + j)] = r[j];
    }
    dout[t + 2048 * 8] = sum;
}
