// fp32 in straight code: a transform of 8 complex numbers per thread.
#include "device.h"

struct Complex { float re, im; };

DEVICE void butterfly(Complex &a, Complex &b) {
    Complex sum = {a.re + b.re, a.im + b.im}, difference = {a.re - b.re, a.im - b.im};
    a = sum;
    b = difference;
}

DEVICE Complex turn(Complex a, float re, float im) { return {a.re * re - a.im * im, a.re * im + a.im * re}; }

GLOBAL void fft8(const float4 *__restrict in, float4 *__restrict out) {
    const float root = 0.70710678f;
    int at = index() * 4;
    Complex v[8];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        float4 two = in[at + i];
        v[2 * i] = {two.x, two.y};
        v[2 * i + 1] = {two.z, two.w};
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
        butterfly(v[i], v[i + 4]);
    v[5] = turn(v[5], root, -root);
    v[6] = turn(v[6], 0, -1);
    v[7] = turn(v[7], -root, -root);
#pragma unroll
    for (int half = 0; half < 8; half += 4) {
        butterfly(v[half], v[half + 2]);
        butterfly(v[half + 1], v[half + 3]);
        v[half + 3] = turn(v[half + 3], 0, -1);
        butterfly(v[half], v[half + 1]);
        butterfly(v[half + 2], v[half + 3]);
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        Complex a = v[2 * i], b = v[2 * i + 1];
        out[at + i] = (float4){a.re, a.im, b.re, b.im};
    }
}
