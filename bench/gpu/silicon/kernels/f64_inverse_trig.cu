// asin, acos, atan, atan2 in double: MUFU.RSQ64H, MUFU.RCP64H, DFMA, DSETP, FSEL, CALL.REL.NOINC for the division.
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
        r[0] = asin(x * 0.26);
        r[1] = acos(y * 0.26);
        r[2] = atan(x * y);
        r[3] = atan2(x, y);
        sum = sum * 0.5 + (r[0] < r[1] ? r[2] : r[3]);
#pragma unroll
        for (int j = 0; j < 4; j++) dout[t + 2048 * (4 * k + j)] = r[j];
    }
    dout[t + 2048 * 8] = sum;
}
