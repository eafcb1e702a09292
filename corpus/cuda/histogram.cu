// Histogram of bytes: shared-memory atomics, then one global atomic per bin.
extern "C" __global__ void histogram(const uchar4* __restrict__ in, unsigned* __restrict__ bins, int count) {
    __shared__ unsigned local[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) local[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        const uchar4 pixel = in[i];
        atomicAdd(&local[pixel.x], 1);
        atomicAdd(&local[pixel.y], 1);
        atomicAdd(&local[pixel.z], 1);
        atomicAdd(&local[pixel.w], 1);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        if (local[i]) atomicAdd(&bins[i], local[i]);
}

extern "C" __global__ void extremes(const int* __restrict__ in, int* __restrict__ out, int count) {
    __shared__ int least, most;
    if (threadIdx.x == 0) least = 0x7fffffff, most = 0x80000000;
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        atomicMin(&least, in[i]);
        atomicMax(&most, in[i]);
        atomicXor(out + 2, in[i]);
        atomicExch(out + 3, in[i]);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicMin(out, least);
        atomicMax(out + 1, most);
    }
}
