// Sum and largest magnitude of an array: vector loads, shuffles, one partial result per block.
extern "C" __global__ void __launch_bounds__(256)
reduce(const float* __restrict__ in, float* __restrict__ sums, float* __restrict__ peaks, int count) {
    __shared__ float shared_sum[8], shared_peak[8];
    const int vectors = count / 4, stride = gridDim.x * 256, first = blockIdx.x * 256 + threadIdx.x;
    float sum = 0, peak = 0;
    const auto add = [&](float value) {
        sum += value;
        peak = fmaxf(peak, fabsf(value));
    };
#pragma unroll 4
    for (int i = first; i < vectors; i += stride) {
        const float4 value = reinterpret_cast<const float4*>(in)[i];
        add(value.x), add(value.y), add(value.z), add(value.w);
    }
    if (first < count - 4 * vectors) add(in[4 * vectors + first]);
    for (int step = 16; step > 0; step /= 2) {
        sum += __shfl_down_sync(~0u, sum, step);
        peak = fmaxf(peak, __shfl_down_sync(~0u, peak, step));
    }
    if (threadIdx.x % 32 == 0) {
        shared_sum[threadIdx.x / 32] = sum;
        shared_peak[threadIdx.x / 32] = peak;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < 8; ++i) {
            sum += shared_sum[i];
            peak = fmaxf(peak, shared_peak[i]);
        }
        sums[blockIdx.x] = sum;
        peaks[blockIdx.x] = peak;
    }
}
