// Some sixty values alive at once over branches, so that few registers force spills: STL, LDL, IMAD, FFMA, FSEL. Wants maxrregcount=32 most.
// input: float
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    float v[40];
    unsigned u[20];
#pragma unroll
    for (int k = 0; k < 40; k++) v[k] = __uint_as_float(in[t + 2048 * k]);
#pragma unroll
    for (int k = 0; k < 20; k++) u[k] = in[t + 2048 * (k + 40)];
    for (int i = 0; i < 4; i++) {
#pragma unroll
        for (int k = 0; k < 40; k++) v[k] = v[k] * 0.75f + v[(k * 7 + 3) % 40] * v[(k + 11) % 40] * 0.0625f;
#pragma unroll
        for (int k = 0; k < 20; k++) u[k] = u[k] * 0x01000193u + u[(k + 7) % 20] + __float_as_uint(v[2 * k]);
        if (u[i] & 1) {
#pragma unroll
            for (int k = 0; k < 20; k++) v[k] += v[39 - k] > 0.0f ? 0.5f : -0.125f;
        }
        v[i] = sinf(v[i + 20]) * 2.0f;
    }
#pragma unroll
    for (int k = 0; k < 40; k++) out[t + 2048 * k] = __float_as_uint(v[k]);
#pragma unroll
    for (int k = 0; k < 20; k++) out[t + 2048 * (k + 40)] = u[k];
}
