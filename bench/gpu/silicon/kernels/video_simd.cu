// The byte and half-word intrinsics: VABSDIFF4.U8, VABSDIFF4.U8.ACC, VIMNMX.U16x2, VIMNMX.S16x2, VIADD.16x2 and long LOP3, PRMT and IADD3 chains.
// input: random
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned a[4], b[4];
#pragma unroll
    for (int k = 0; k < 4; k++) {
        a[k] = in[t + 2048 * k];
        b[k] = in[t + 2048 * (k + 4)];
    }
    for (int i = 0; i < 3; i++) {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const unsigned c = a[(k + 1) & 3];
            const unsigned x = __vabsdiffu4(a[k], b[k]) + __vsadu4(a[k], c) + __vsads4(b[k], c);
            const unsigned y = __vaddss2(a[k], c) ^ __vsubus4(b[k], c) ^ __vavgu4(a[k], b[k]);
            const unsigned z = __vmaxs2(x, y) + __vminu2(a[k], x) + __vmaxu4(y, b[k]) + __vmins4(x, c);
            const unsigned m = __vcmpgtu4(a[k], b[k]) ^ __vcmples2(x, y) ^ __vseteq4(a[k] & 0x03030303u, b[k] & 0x03030303u);
            const unsigned w = __vabsss2(z) + __vnegss4(y) + __vhaddu2(x, z) + __vabsdiffs2(a[k], z);
            a[k] = (a[k] << 3 | a[k] >> 29) + (x ^ w) + (m & y);
            b[k] = (b[k] * 0x01000193u) ^ z ^ (m >> 1);
        }
    }
#pragma unroll
    for (int k = 0; k < 4; k++) {
        out[t + 2048 * k] = a[k];
        out[t + 2048 * (k + 4)] = b[k];
    }
}
