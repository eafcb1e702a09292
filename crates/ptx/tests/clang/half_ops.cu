// Half precision: scalars, pairs, conversions, and bfloat.
#include "device.h"

GLOBAL void half_axpy(int n, half a, const half *x, half *y) {
    int i = index();
    if (i < n)
        y[i] = a * x[i] + y[i];
}

GLOBAL void half_mix(int n, const half2 *__restrict x, const half2 *__restrict y, half2 *__restrict z, float *norm) {
    int i = index() * 4;
    if (i + 3 >= n)
        return;
    float sum = 0;
#pragma unroll
    for (int j = 0; j < 4; j++) {
        half2 product = x[i + j] * y[i + j] + x[i + j];
        z[i + j] = product;
        sum += (float)product.x * (float)product.x + (float)product.y * (float)product.y;
    }
    norm[index()] = sum;
}

GLOBAL void to_half(int n, const float *in, half *out) {
    for (int i = index(); i < n; i += blocks() * threads())
        out[i] = (half)(in[i] * 0.5f);
}

GLOBAL void from_bfloat(int n, const bfloat *in, float *out) {
    int i = index();
    if (i < n)
        out[i] = (float)in[i] * 2.0f;
}
