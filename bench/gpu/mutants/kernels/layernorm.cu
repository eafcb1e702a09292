// Layer normalisation of half-precision rows by one block per row.
#include <cuda_fp16.h>

extern "C" __global__ void kernel(const __half2* in, const __half2* scale, const __half2* shift, __half2* out, int pairs,
                                  float epsilon) {
    __shared__ float part[2][32];
    const __half2* row = in + blockIdx.x * pairs;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float sum = 0, squares = 0;
    for (int i = threadIdx.x; i < pairs; i += blockDim.x) {
        float2 v = __half22float2(row[i]);
        sum += v.x + v.y;
        squares += v.x * v.x + v.y * v.y;
    }
    for (int d = 16; d; d >>= 1) {
        sum += __shfl_xor_sync(~0u, sum, d);
        squares += __shfl_xor_sync(~0u, squares, d);
    }
    if (lane == 0) { part[0][warp] = sum; part[1][warp] = squares; }
    __syncthreads();
    sum = squares = 0;
    for (int w = 0; w < blockDim.x / 32; w++) { sum += part[0][w]; squares += part[1][w]; }
    float mean = sum / (2 * pairs);
    float inv = rsqrtf(squares / (2 * pairs) - mean * mean + epsilon);
    __half2 m = __float2half2_rn(mean), s = __float2half2_rn(inv);
    for (int i = threadIdx.x; i < pairs; i += blockDim.x) {
        __half2 v = __hmul2(__hsub2(row[i], m), s);
        v = __hfma2(v, scale[i], shift[i]);
        out[blockIdx.x * pairs + i] = __hmax2(v, __float2half2_rn(-2.0f));
    }
}
