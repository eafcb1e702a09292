// cbrt, rcbrt, rsqrt, sqrt, division, hypot, rhypot in double with subnormal operands: MUFU.RSQ64H, MUFU.RCP64H, DFMA, DFMA.RP, CALL.REL.NOINC, RET.REL.NODEC, MUFU.LG2, MUFU.EX2.
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
        r[0] = cbrt(x) + rcbrt(y);
        r[1] = sqrt(fabs(x) * 1e-310) + rsqrt(fabs(y));
        r[2] = x / (y * 1e-308) + 1.0 / x;
        r[3] = hypot(x, y) - rhypot(x * 1e200, y * 1e-200);
        sum = sum * 0.5 + (r[0] < r[1] ? r[2] : r[3]);
#pragma unroll
        for (int j = 0; j < 4; j++) dout[t + 2048 * (4 * k + j)] = r[j];
    }
    dout[t + 2048 * 8] = sum;
}
