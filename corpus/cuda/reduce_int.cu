// Integer reductions by the warp-wide instruction, asynchronous barriers and bfloat16 arithmetic.
// needs sm_80: warp-wide integer reduction
#include <cuda_bf16.h>

extern "C" __global__ void reduce_int(const unsigned* __restrict__ in, unsigned* __restrict__ out, int count) {
    unsigned sum = 0, bits = 0, most = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        sum += in[i];
        bits |= in[i];
        most = max(most, in[i]);
    }
    sum = __reduce_add_sync(~0u, sum);
    bits = __reduce_or_sync(~0u, bits);
    most = __reduce_max_sync(~0u, most);
    if (threadIdx.x % 32 == 0) {
        atomicAdd(out, sum);
        atomicOr(out + 1, bits);
        atomicMax(out + 2, most);
    }
}

extern "C" __global__ void bfloat_gelu(const __nv_bfloat162* __restrict__ in, __nv_bfloat162* __restrict__ out, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const __nv_bfloat162 x = in[i], cube = __hmul2(__hmul2(x, x), x);
    float2 inner = __bfloat1622float2(__hfma2(cube, __float2bfloat162_rn(0.044715f), x));
    inner.x = tanhf(0.7978845f * inner.x), inner.y = tanhf(0.7978845f * inner.y);
    out[i] = __hmul2(__hmul2(x, __float2bfloat162_rn(0.5f)),
                     __hmax2(__hadd2(__float22bfloat162_rn(inner), __float2bfloat162_rn(1.0f)), __hneg2(x)));
}
