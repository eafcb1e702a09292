// Many live values of 16 and 64 bits and predicates over a call, so that few registers spill narrow and wide: STL.S16, STL.64, LDL.64, P2R before spills, HFMA2, DFMA.
// input: half
#include <cuda_fp16.h>
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    __half h[24];
    double d[8];
    unsigned short u[16];
    bool p[10];
#pragma unroll
    for (int k = 0; k < 24; k++) h[k] = ((const __half*)in)[t + 2048 * k];
#pragma unroll
    for (int k = 0; k < 8; k++) d[k] = (double)__half2float(((const __half*)in)[t + 65536 + 2048 * k]);
#pragma unroll
    for (int k = 0; k < 16; k++) u[k] = ((const unsigned short*)in)[t + 131072 + 2048 * k];
    for (int i = 0; i < 4; i++) {
#pragma unroll
        for (int k = 0; k < 10; k++) p[k] = __hlt(h[k], h[k + 11]);
#pragma unroll
        for (int k = 0; k < 24; k++) h[k] = __hfma(h[k], __float2half(0.5f), __hmul(h[(k * 5 + 7) % 24], __float2half(k & 1 ? 0.25f : -0.375f)));
#pragma unroll
        for (int k = 0; k < 8; k++) d[k] = d[k] * 0.75 + sqrt(fabs(d[(k + 3) & 7])) + (double)u[k];
#pragma unroll
        for (int k = 0; k < 16; k++) u[k] = (unsigned short)(u[k] * 5 + u[(k + 7) & 15] + (p[k % 10] ? 3 : 1));
#pragma unroll
        for (int k = 0; k < 10; k++)
            if (p[k]) h[k + 9] = __hadd(h[k + 9], h[k]);
    }
#pragma unroll
    for (int k = 0; k < 24; k++) out[t + 2048 * k] = __half_as_ushort(h[k]);
#pragma unroll
    for (int k = 0; k < 16; k++) out[t + 2048 * (k + 24)] = u[k];
#pragma unroll
    for (int k = 0; k < 8; k++) ((double*)out)[t + 2048 * (k + 32)] = d[k];
}
