// The approximate high-half functions in double and short Newton steps, on any bit pattern: MUFU.RCP64H, MUFU.RSQ64H, DFMA, DMUL, guards and selects from DSETP.
// input: random
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    double* dout = (double*)out;
    double x[4];
#pragma unroll
    for (int k = 0; k < 4; k++) x[k] = __hiloint2double((int)(in[t + 2048 * k] & (k & 1 ? 0x7fffffffu : 0xbfffffffu)), (int)in[t + 2048 * (k + 4)]);
    unsigned count = 0;
    for (int i = 0; i < 3; i++) {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            double r, s;
            asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(x[k]));
            asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(s) : "d"(fabs(x[(k + 1) & 3])));
            const double e = fma(-x[k], r, 1.0), y = fma(r, e, r), z = fma(s * s, -0.5 * x[(k + 1) & 3], 1.5) * s;
            if (e > 1e-9) count += 3;
            if (!(z < y)) count ^= 0x55;
            dout[t + 2048 * (k + 8)] = e;
            x[k] = i & 1 ? y + s : z * (y < 1.0 ? 2.0 : 0.25);
        }
    }
#pragma unroll
    for (int k = 0; k < 4; k++) dout[t + 2048 * k] = x[k];
    out[t + 65536] = count;
}
