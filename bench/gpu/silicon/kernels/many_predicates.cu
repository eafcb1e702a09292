// Sixteen comparisons of two kinds kept alive over a block of arithmetic, then used as guards, selects and a ballot: P2R, LOP3 bit tests, ISETP, FSETP, FSETP.LT.XOR, VOTE.
// input: float
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    float x[8];
#pragma unroll
    for (int k = 0; k < 8; k++) x[k] = __uint_as_float(in[t + 2048 * k]);
    unsigned acc = 0;
    for (int i = 0; i < 5; i++) {
        bool p[16];
#pragma unroll
        for (int k = 0; k < 8; k++) {
            p[k] = x[k] < x[(k + 3) & 7];
            p[k + 8] = (__float_as_uint(x[k]) & 0x1000u * (i + 1)) != 0;
        }
        float y[8];
#pragma unroll
        for (int k = 0; k < 8; k++) y[k] = x[k] * 0.75f + x[(k + 1) & 7] * (p[k ^ 1] ? 0.5f : -0.25f);
#pragma unroll
        for (int k = 0; k < 8; k++) {
            if (p[k]) y[k] += x[(k + 5) & 7];
            if (p[15 - k] != p[k]) y[k] *= 0.875f;
            acc = acc * 2 + (p[k] && p[8 + (k ^ 3)]);
        }
        acc ^= __ballot_sync(0xffffffffu, p[3] != p[12]);
#pragma unroll
        for (int k = 0; k < 8; k++) {
            x[k] = p[k + 8] ? y[k] : y[k] - x[k];
            if (p[k] && !p[15 - k]) out[t + 2048 * (16 + k)] = __float_as_uint(x[k]);
        }
    }
#pragma unroll
    for (int k = 0; k < 8; k++) out[t + 2048 * k] = __float_as_uint(x[k]);
    out[t + 2048 * 8] = acc;
}
