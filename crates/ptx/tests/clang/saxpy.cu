// fp32: a guard, loads, a fused multiply-add.
#include "device.h"

GLOBAL void saxpy(int n, float a, const float *x, float *y) {
    int i = index();
    if (i < n)
        y[i] = a * x[i] + y[i];
}

// Four elements of 16 bytes per thread.
GLOBAL void saxpy4(int n, float a, const float4 *__restrict x, float4 *__restrict y) {
    int i = index() * 4;
    if (i + 3 >= n)
        return;
#pragma unroll
    for (int j = 0; j < 4; j++)
        y[i + j] = a * x[i + j] + y[i + j];
}
