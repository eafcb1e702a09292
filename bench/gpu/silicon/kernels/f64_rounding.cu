// rint, floor, ceil, trunc, round, nearbyint, llrint in double: FRND.F64, FRND.F64.FLOOR, FRND.F64.CEIL, FRND.F64.TRUNC, F2I.S64.F64, F2I.F64, I2F.F64.S64, I2F.F64.U64.
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
        r[0] = rint(x * 3.5) + floor(y * 1e10);
        r[1] = ceil(x) + trunc(y * 7.5) + round(x * 10.0);
        r[2] = (double)llrint(x * 1e15) + (double)(unsigned long long)fabs(y * 1e18) + (double)(int)(y * 100.0);
        r[3] = (double)(float)x + (double)__double2ll_rd(y * 1e12) + (double)__double2uint_ru(fabs(x) * 1e9) + (double)__double2int_rn(y);
        sum = sum * 0.5 + (r[0] < r[1] ? r[2] : r[3]);
#pragma unroll
        for (int j = 0; j < 4; j++) dout[t + 2048 * (4 * k + j)] = r[j];
    }
    dout[t + 2048 * 8] = sum;
}
