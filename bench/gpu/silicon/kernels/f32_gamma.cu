// lgammaf and tgammaf on negative and positive arguments: long branches, R2P, MUFU.RCP, FRND.TRUNC, FRND.FLOOR, F2I.NTZ, FSETP with many live predicates, FSEL.
// input: float
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const float x = __uint_as_float(in[t + 2048 * k]);
        const float a = lgammaf(x * 10.0f), b = tgammaf(x * 8.0f), c = lgammaf(x), d = tgammaf(x + 0.25f);
        sum = sum * 0.5f + (a > c ? d : c);
        out[t + 2048 * (4 * k)] = __float_as_uint(a);
        out[t + 2048 * (4 * k + 1)] = __float_as_uint(b);
        out[t + 2048 * (4 * k + 2)] = __float_as_uint(c - a);
        out[t + 2048 * (4 * k + 3)] = __float_as_uint(d + sum);
    }
}
