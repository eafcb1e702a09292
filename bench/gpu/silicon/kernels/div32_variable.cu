// 32-bit division and remainder by variables, signed and not, four chains: I2F.U32.RP, I2F.RP, MUFU.RCP, F2I.FTZ.U32.TRUNC.NTZ, IMAD.HI.U32, IABS, guarded IADD3.
// input: random
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned a[4], b[4];
#pragma unroll
    for (int k = 0; k < 4; k++) {
        a[k] = in[t + 2048 * k];
        b[k] = in[t + 2048 * (k + 4)] >> (7 * k);
    }
    for (int i = 0; i < 6; i++) {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const unsigned d = b[k] | 1, q = a[k] / d, r = a[k] % d;
            const int sd = (int)(b[(k + 1) & 3]) | 1, sq = (int)a[k] / sd, sr = (int)a[k] % sd;
            a[k] = q * 0x9e3779b9u + r + (unsigned)sq;
            b[k] = (r ^ (unsigned)sr) + (q << 3);
            if (sr < 0) b[k] = ~b[k] >> (i + k);
        }
    }
#pragma unroll
    for (int k = 0; k < 4; k++) {
        out[t + 2048 * k] = a[k];
        out[t + 2048 * (k + 4)] = b[k];
    }
}
