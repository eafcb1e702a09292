// Three-input logic whose only or second result is a predicate, and predicate logic on those: LOP3.LUT with P out, PLOP3.LUT, ISETP with an accumulated predicate.
// input: random
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned a[4], b[4], c[4];
#pragma unroll
    for (int k = 0; k < 4; k++) {
        a[k] = in[t + 2048 * k];
        b[k] = in[t + 2048 * (k + 4)];
        c[k] = in[t + 2048 * (k + 8)];
    }
    unsigned hits = 0;
    for (int i = 0; i < 6; i++) {
        bool p[4], q[4], r[4];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            p[k] = (a[k] & b[k] & c[k] & 0xff) != 0;
            const unsigned x = (a[k] ^ b[k]) & (c[k] | 0x0f0f0000u), y = (b[k] | c[k]) & ~a[k] & 0xf0f0u;
            q[k] = x == 0 || (y & 0x7010u) == 0;
            r[k] = (y ^ x) & 0x40u;
            a[k] += x * 3;
            b[k] ^= y + (b[k] << 7);
        }
        const bool all = (p[0] && q[1]) || (r[2] && !p[3]), odd = p[0] ^ q[0] ^ r[0] ^ p[1] ^ q[2] ^ r[3];
        const bool maj = (p[1] && r[1]) || (p[1] && q[3]) || (r[1] && q[3]);
        hits = hits * 3 + (all ? 1 : 0) + (odd ? 5 : 2) + (maj ? 11 : 0);
#pragma unroll
        for (int k = 0; k < 4; k++) {
            c[k] = (p[k] != odd) ? c[k] + hits : c[k] * 5 ^ b[k];
            if (q[k] && !maj) a[k] = ~a[k];
            if (r[k] == all) out[t + 2048 * (16 + k)] = a[k] ^ c[k];
        }
    }
#pragma unroll
    for (int k = 0; k < 4; k++) {
        out[t + 2048 * k] = a[k];
        out[t + 2048 * (k + 4)] = b[k];
        out[t + 2048 * (k + 8)] = c[k];
    }
    out[t + 2048 * 12] = hits;
}
