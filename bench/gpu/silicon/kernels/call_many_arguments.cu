// Calls of functions kept out of line, with twenty arguments, structures by value and results of 128 bits, nested and in divergent code: CALL.REL.NOINC, RET.REL.NODEC, BSSY around calls.
// input: random
struct Big { unsigned v[6]; double d; };
__device__ __noinline__ unsigned many(unsigned a, unsigned b, unsigned c, unsigned d, float e, float f, double g, unsigned long long h, unsigned i, unsigned j, unsigned k, unsigned l, unsigned m, unsigned o, unsigned p, unsigned q, unsigned r, unsigned s, unsigned u, unsigned v) {
    unsigned x = a * 3 + (b ^ c) - d + __float_as_uint(e * f) + (unsigned)(int)(g * 0.001) + (unsigned)(h >> 19);
    x ^= (i + j * 5) ^ (k << 3) ^ (l >> 4) ^ (m * o) ^ (p - q) ^ (r | s) ^ (u & v);
    if (x & 1) x = x * a + b;
    return x;
}
__device__ __noinline__ uint4 quad(Big b, unsigned k) {
    for (unsigned i = 0; i < (k & 3); i++) b.d = b.d * 0.5 + (double)b.v[i];
    return make_uint4(b.v[0] + b.v[5], b.v[1] ^ k, (unsigned)__double2ll_rz(b.d), b.v[3] * b.v[4]);
}
__device__ __noinline__ Big make(unsigned x, double d) {
    Big b;
    for (int i = 0; i < 6; i++) b.v[i] = x * (2 * i + 1) + i;
    b.d = d + many(x, 2, x ^ 3, 4, 5.0f, (float)(x & 255), d, x, 9, 10, x >> 1, 12, 13, x >> 2, 15, 16, 17, x >> 3, 19, 20) % 1000;
    return b;
}

extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x = in[t], y = in[t + 2048];
    double d = (double)(x & 0xffff);
    for (int i = 0; i < 4; i++) {
        const unsigned z = in[t + 2048 * (i + 2)];
        x += many(x, y, z, i, 0.5f, (float)i, d, (unsigned long long)x * y, z, y, x, i, z >> 3, y >> 5, x >> 7, 3, z & 15, y & 31, x & 63, 7);
        const Big b = make(x, d);
        d = b.d * 0.25;
        if (x & 1) {
            const uint4 q = quad(b, y);
            y = y * 5 + q.x + (q.y ^ q.z) + q.w;
        } else if (y & 2) {
            y ^= many(y, x, b.v[0], b.v[1], 1.5f, 2.5f, b.d, 77, b.v[2], b.v[3], b.v[4], b.v[5], 1, 2, 3, 4, 5, 6, 7, z);
        }
    }
    out[t] = x;
    out[t + 2048] = y;
    ((double*)out)[t + 2048] = d;
}
