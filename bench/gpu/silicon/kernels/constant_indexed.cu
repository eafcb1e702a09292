// Constant memory at indices that differ per thread, in several widths, beside uniform constant operands: LDC, LDC.64, LDC.S16, ULDC, ULDC.U16, UPRMT, FFMA and DFMA with constants.
// input: random
struct Row { unsigned a, b; float f, g; double d; unsigned long long w; };
#define ROW(i) {(i) * 0x9e3779b1u, (i) * 77u + 5u, 0.25f * (i) + 1.0f, 3.0f - 0.5f * (i), 1.0 / ((i) + 1), (i) * 0x123456789abcull + 7}
__constant__ Row rows[16] = {ROW(0), ROW(1), ROW(2), ROW(3), ROW(4), ROW(5), ROW(6), ROW(7), ROW(8), ROW(9), ROW(10), ROW(11), ROW(12), ROW(13), ROW(14), ROW(15)};
__constant__ uint4 quads[8] = {{1, 2, 3, 4}, {50, 60, 70, 80}, {9, 8, 7, 6}, {1000, 2000, 3000, 4000}, {11, 22, 33, 44}, {5, 5, 6, 6}, {90, 91, 92, 93}, {17, 27, 37, 47}};
__constant__ short shorts[32] = {1, -2, 3, -4, 500, -600, 700, -800, 9, -10, 11, -12, 13000, -14000, 15000, -16000, 17, 18, 19, 20, -21, -22, -23, -24, 25, 26, 27, 28, -29, -30, -31, -32};
__constant__ unsigned next[16] = {7, 3, 12, 0, 9, 14, 1, 5, 10, 2, 15, 8, 13, 4, 11, 6};

extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x = in[t], sum = 0, at = x & 15, uniform = blockIdx.x & 15;
    float f = 1.0f;
    double d = 0.5;
    unsigned long long w = 1;
    for (int i = 0; i < 6; i++) {
        const Row& r = rows[at];
        const uint4 q = quads[x >> 3 & 7];
        f = f * 0.25f + r.f * r.g;
        d = d * r.d + rows[uniform].d;
        w = w * 3 + r.w;
        sum = sum * 31 + (q.x ^ q.y) + q.z * q.w + (unsigned)(int)shorts[sum >> 5 & 31] + r.a;
        x = x * 5 + r.b + (sum >> 7) + rows[uniform].b;
        at = next[at ^ (x & 1)];
        uniform = next[uniform];
        if (f > rows[i].f) sum += quads[uniform & 7].w;
    }
    out[t] = sum;
    out[t + 2048] = x;
    out[t + 4096] = __float_as_uint(f);
    out[t + 6144] = at * 16 + uniform;
    ((double*)out)[t + 4096] = d;
    out[t + 16384] = (unsigned)w ^ (unsigned)(w >> 32);
}
