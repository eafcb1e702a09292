// fmod, remainder, remquo, modf, frexp, ldexp, nextafter, logb in double: loops of different lengths per lane, IADD3.X, IMAD.U32.X, SHF.L.U64.HI, ISETP.NE.AND.EX, FRND.F64.TRUNC, FLO.U32.
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
        int q, e;
        double whole;
        r[0] = fmod(x * 1e20, y);
        r[1] = remainder(x * 1e9, y) + remquo(y, x * 0.1, &q);
        r[2] = modf(x * 3.7, &whole) + frexp(y, &e) + nextafter(x, y);
        r[3] = ldexp(x, e * 30 + q) + logb(y) * whole + scalbn(y, -1070);
        sum = sum * 0.5 + (r[0] < r[1] ? r[2] : r[3]);
#pragma unroll
        for (int j = 0; j < 4; j++) dout[t + 2048 * (4 * k + j)] = r[j];
    }
    dout[t + 2048 * 8] = sum;
}
