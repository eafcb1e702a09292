// Layer norm of half-precision rows, a block per row, two values at a time.
#include <cuda_fp16.h>

extern "C" __global__ void __launch_bounds__(256)
layernorm(const __half2* __restrict__ in, const __half2* __restrict__ gain, const __half2* __restrict__ bias,
          __half2* __restrict__ out, int pairs, float epsilon) {
    __shared__ float2 shared[8];
    const __half2* row = in + (long long)blockIdx.x * pairs;
    float sum = 0, squares = 0;
    for (int i = threadIdx.x; i < pairs; i += 256) {
        const float2 value = __half22float2(row[i]);
        sum += value.x + value.y;
        squares += value.x * value.x + value.y * value.y;
    }
    for (int step = 16; step > 0; step /= 2) {
        sum += __shfl_xor_sync(~0u, sum, step);
        squares += __shfl_xor_sync(~0u, squares, step);
    }
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = make_float2(sum, squares);
    __syncthreads();
    sum = squares = 0;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        sum += shared[i].x;
        squares += shared[i].y;
    }
    const float mean = sum / (2 * pairs), scale = rsqrtf(fmaxf(squares / (2 * pairs) - mean * mean, 0.0f) + epsilon);
    for (int i = threadIdx.x; i < pairs; i += 256) {
        const float2 value = __half22float2(row[i]), g = __half22float2(gain[i]), b = __half22float2(bias[i]);
        out[(long long)blockIdx.x * pairs + i] =
            __floats2half2_rn((value.x - mean) * scale * g.x + b.x, (value.y - mean) * scale * g.y + b.y);
    }
}
