// Row softmax, a block per row; a row has its own number of valid columns, the others get zero.
__device__ inline float merged(float own, float* shared, bool sum) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int step = 16; step > 0; step /= 2) {
        const float other = __shfl_xor_sync(~0u, own, step);
        own = sum ? own + other : fmaxf(own, other);
    }
    __syncthreads();
    if (lane == 0) shared[warp] = own;
    __syncthreads();
    own = shared[0];
#pragma unroll
    for (int i = 1; i < 8; ++i) own = sum ? own + shared[i] : fmaxf(own, shared[i]);
    return own;
}

extern "C" __global__ void __launch_bounds__(256)
softmax(const float* __restrict__ in, const int* __restrict__ lengths, float* __restrict__ out, int columns) {
    __shared__ float shared[8];
    const float* row = in + (long long)blockIdx.x * columns;
    float* to = out + (long long)blockIdx.x * columns;
    const int valid = min(lengths[blockIdx.x], columns);
    float most = -INFINITY, sum = 0;
    for (int i = threadIdx.x; i < valid; i += 256) most = fmaxf(most, row[i]);
    most = merged(most, shared, false);
    for (int i = threadIdx.x; i < valid; i += 256) sum += __expf(row[i] - most);
    const float scale = 1.0f / merged(sum, shared, true);
    for (int i = threadIdx.x; i < columns; i += 256) to[i] = i < valid ? __expf(row[i] - most) * scale : 0.0f;
}
