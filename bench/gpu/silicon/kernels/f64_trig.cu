// sin, cos, tan, sincos in double, small and of the size that needs the long reduction (called, with local memory): F2I.F64, I2F.F64, DFMA, LDG of coefficients, CALL.REL.NOINC, STL, LDL, LDC.
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
        double s, c;
        sincos(x * 1e6, &s, &c);
        r[0] = sin(x) + c;
        r[1] = cos(y * 1e200) + s;
        r[2] = tan(x * y * 7.0);
        r[3] = t & 1 ? sinpi(x) : cospi(y * 1e9);
        sum = sum * 0.5 + (r[0] < r[1] ? r[2] : r[3]);
#pragma unroll
        for (int j = 0; j < 4; j++) dout[t + 2048 * (4 * k + j)] = r[j];
    }
    dout[t + 2048 * 8] = sum;
}
