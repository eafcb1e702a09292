// A median filter whose window lives in dynamic shared memory cut into two arrays of different types.
extern "C" __global__ void dynamic_shared(const unsigned short* __restrict__ in, unsigned short* __restrict__ out, int width,
                                          int window) {
    extern __shared__ unsigned char memory[];
    unsigned short* row = reinterpret_cast<unsigned short*>(memory);
    int* ranks = reinterpret_cast<int*>(memory + (blockDim.x + window) * sizeof(unsigned short) / 16 * 16 + 16);
    const int start = blockIdx.x * blockDim.x;
    for (int i = threadIdx.x; i < blockDim.x + window; i += blockDim.x) row[i] = in[min(start + i, width - 1)];
    __syncthreads();
    int best = 0x7fffffff;
    unsigned short median = 0;
    for (int i = 0; i < window; ++i) {
        const unsigned short candidate = row[threadIdx.x + i];
        int below = 0;
        for (int j = 0; j < window; ++j) {
            const unsigned short other = row[threadIdx.x + j];
            below += other < candidate || (other == candidate && j < i);
        }
        const int distance = abs(below - window / 2);
        if (distance < best) best = distance, median = candidate;
    }
    ranks[threadIdx.x] = best;
    __syncthreads();
    if (start + threadIdx.x < width) out[start + threadIdx.x] = median + ranks[blockDim.x - 1 - threadIdx.x];
}
