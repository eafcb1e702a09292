// Bytes between two limits counted in shared memory, then added to global memory. Integers only, so the order of the
// atomics does not show.
extern "C" __global__ void __launch_bounds__(256)
histogram(const unsigned* __restrict__ in, unsigned* bins, int count, unsigned low, unsigned high) {
    __shared__ unsigned local[256];
    local[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < count; i += gridDim.x * 256) {
        const unsigned word = in[i];
#pragma unroll
        for (int b = 0; b < 4; ++b) {
            const unsigned byte = word >> (8 * b) & 255;
            if (byte >= low && byte < high) atomicAdd(&local[byte], 1);
        }
    }
    __syncthreads();
    if (local[threadIdx.x]) atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}
