// powf on positive, negative, special and subnormal arguments, powif, cbrtf, rcbrtf: MUFU.LG2, MUFU.EX2, MUFU.RCP, FRND.FLOOR, FSETP chains, F2I, guarded selects.
// input: random
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const float any = __uint_as_float(in[t + 2048 * k]), near1 = __uint_as_float(0x3f000000u | (in[t + 2048 * (k + 4)] & 0xffffffu));
        const float small = (float)(int)(in[t + 2048 * (k + 8)] >> 26) - 31.0f;
        const float a = powf(any, near1), b = powf(near1, small * 7.25f), c = powf(-near1 * 3.0f, small), d = powf(any, small);
        const float e = cbrtf(any), f = rcbrtf(near1), g = powf(near1, (float)(int)(in[t] & 15));
        out[t + 2048 * (5 * k)] = __float_as_uint(a);
        out[t + 2048 * (5 * k + 1)] = __float_as_uint(b + e);
        out[t + 2048 * (5 * k + 2)] = __float_as_uint(c);
        out[t + 2048 * (5 * k + 3)] = __float_as_uint(d);
        out[t + 2048 * (5 * k + 4)] = __float_as_uint(c > b ? f * g : g - f);
    }
}
