// Packed half arithmetic: AXPY with a ReLU, comparisons and conversions.
// needs sm_53: half arithmetic
#include <cuda_fp16.h>

extern "C" __global__ void half2_axpy(const half2* __restrict__ x, half2* __restrict__ y, half2 a, int count) {
    const half2 zero = __float2half2_rn(0.0f);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        const half2 sum = __hfma2(a, x[i], y[i]);
        y[i] = __hmul2(sum, __hgt2(sum, zero));
    }
}

extern "C" __global__ void half2_norm(const half2* __restrict__ in, half2* __restrict__ out, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const half2 value = in[i];
    float2 wide = __half22float2(value);
    const float scale = rsqrtf(wide.x * wide.x + wide.y * wide.y + 1e-6f);
    const half2 scaled = __hmul2(value, __float2half2_rn(scale));
    out[i] = __hsub2(__hadd2(scaled, __lowhigh2highlow(scaled)), __habs2(value));
    if (__hbeq2(scaled, value)) out[i] = h2exp2(scaled);
}
