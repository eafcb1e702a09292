// Bytes counted in shared memory, then added to global memory; integers only, so the order of atomics does not show.
extern "C" __global__ void kernel(const unsigned* in, unsigned* bins, int n, unsigned low, unsigned high) {
    __shared__ unsigned local[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) local[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned word = in[i];
#pragma unroll
        for (int b = 0; b < 4; b++) {
            unsigned byte = word >> (8 * b) & 255;
            if (byte >= low && byte < high) atomicAdd(&local[byte], 1 + (word >> 31));
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        if (local[i]) atomicAdd(&bins[i], local[i]);
}
