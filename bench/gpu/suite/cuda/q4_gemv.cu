// y = W x with W in four bits, a half-precision scale and an offset per 32 weights; a warp per row, eight weights a load.
#include <cuda_fp16.h>

extern "C" __global__ void __launch_bounds__(128)
q4_gemv(const unsigned* __restrict__ weights, const half2* __restrict__ scales, const float* __restrict__ x,
        float* __restrict__ y, int rows, int columns) {
    const int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32, words = columns / 8;
    if (row >= rows) return;
    const unsigned* from = weights + (long long)row * words;
    const half2* scale = scales + (long long)row * (columns / 32);
    float sum = 0;
#pragma unroll 4
    for (int i = lane; i < words; i += 32) {
        const unsigned word = from[i];
        const float2 s = __half22float2(scale[i / 4]);
        const float4 x0 = reinterpret_cast<const float4*>(x)[2 * i], x1 = reinterpret_cast<const float4*>(x)[2 * i + 1];
        const float right[8] = {x0.x, x0.y, x0.z, x0.w, x1.x, x1.y, x1.z, x1.w};
        float part = 0, total = 0;
#pragma unroll
        for (int j = 0; j < 8; ++j) {
            part = fmaf(static_cast<float>(word >> (4 * j) & 15), right[j], part);
            total += right[j];
        }
        sum += s.x * part + s.y * total;
    }
    for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
    if (lane == 0) y[row] = sum;
}
