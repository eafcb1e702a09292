// Bits of a mask unpacked to predicates and packed again: R2P with several masks and byte selectors, guarded adds, FSEL and SEL, ISETP, FSETP.
// input: random
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned m = in[t], acc[8];
    float f[8];
#pragma unroll
    for (int k = 0; k < 8; k++) {
        acc[k] = in[t + 2048 * (k + 1)];
        f[k] = (float)(acc[k] & 0xffff);
    }
    for (int i = 0; i < 4; i++) {
#pragma unroll
        for (int k = 0; k < 32; k++) {
            const bool bit = m >> k & 1;
            if (k < 8) { if (bit) acc[k] += acc[(k + 1) & 7]; }
            else if (k < 16) f[k & 7] = bit ? f[k & 7] * 1.5f : f[(k + 1) & 7];
            else if (k < 24) { if (bit) f[k & 7] += 1.0f; }
            else acc[k & 7] = bit ? acc[k & 7] ^ m : acc[(k + 3) & 7];
        }
        unsigned next = 0;
#pragma unroll
        for (int k = 0; k < 32; k++) next |= (unsigned)(k & 1 ? f[k & 7] > f[(k >> 2) & 7] : acc[k & 7] < acc[(k >> 3) & 7]) << k;
        m = next + acc[i];
        if ((m & 0x30) == 0x10) out[t + 2048 * (20 + i)] = m;
    }
#pragma unroll
    for (int k = 0; k < 8; k++) {
        out[t + 2048 * k] = acc[k];
        out[t + 2048 * (k + 8)] = __float_as_uint(f[k]);
    }
    out[t + 2048 * 16] = m;
}
