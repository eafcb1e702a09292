// Dynamic-programming intrinsics: VIADDMNMX, VIADDMNMX.RELU, VIADDMNMX.S16x2, VIADDMNMX.U16x2, VIMNMX.S16x2, VIMNMX.S16x2.RELU, VIMNMX3, VIMNMX3.S16x2, predicates beside minima and maxima.
// input: random
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    int a[4], b[4];
#pragma unroll
    for (int k = 0; k < 4; k++) {
        a[k] = (int)in[t + 2048 * k];
        b[k] = (int)in[t + 2048 * (k + 4)];
    }
    unsigned bits = 0;
    for (int i = 0; i < 6; i++) {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const int c = a[(k + 1) & 3], d = b[(k + 2) & 3];
            const int x = __viaddmax_s32(a[k], b[k], c), y = __viaddmin_s32(c, d, x), z = __viaddmax_s32_relu(x, -y, d >> 4);
            const unsigned u = __viaddmax_u32(a[k], d, z), v = __viaddmin_u32(u, b[k], c);
            const unsigned p = __viaddmax_s16x2(x, u, v), q = __viaddmin_s16x2_relu(a[k], y, p), r = __viaddmin_u16x2(b[k], q, z);
            const int m = __vimax3_s32(x, y, c), o = __vimin3_s32_relu(m, z, d);
            const unsigned s = __vimax3_u16x2(p, q, r), w = __vimin3_s16x2(p, s, c), e = __vimax_s16x2_relu(r, w);
            bool first, hi, lo;
            const int f = __vibmax_s32(m, (int)r, &first);
            const unsigned g = __vibmin_u32(u, v, &lo);
            bool two;
            const unsigned h = __vibmax_s16x2(s, e, &hi, &two);
            bits = bits * 3 + (first ? 5 : 0) + (lo ? 17 : 2) + (hi ? 33 : 4) + two;
            if (first && !two) bits ^= g;
            a[k] = (f ^ (int)(g * 0x85ebca6bu)) + (int)h;
            b[k] = (o + (int)w * 0x27d4eb2f) ^ (int)bits;
        }
    }
#pragma unroll
    for (int k = 0; k < 4; k++) {
        out[t + 2048 * k] = (unsigned)a[k];
        out[t + 2048 * (k + 4)] = (unsigned)b[k];
    }
    out[t + 16384] = bits;
}
