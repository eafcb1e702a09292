// Sum of an array: grid-stride loop, warp shuffles, shared memory between warps, one atomic per block.
__device__ inline float warp_sum(float value) {
    for (int step = 16; step > 0; step /= 2) value += __shfl_down_sync(~0u, value, step);
    return value;
}

extern "C" __global__ void reduce(const float4* __restrict__ in, float* __restrict__ out, int count) {
    __shared__ float partial[32];
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        const float4 part = in[i];
        sum += part.x + part.y + (part.z + part.w);
    }
    sum = warp_sum(sum);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (lane == 0) partial[warp] = sum;
    __syncthreads();
    if (warp == 0) {
        sum = warp_sum(lane < blockDim.x / 32 ? partial[lane] : 0.0f);
        if (lane == 0) atomicAdd(out, sum);
    }
}

extern "C" __global__ void arg_max(const int* __restrict__ in, unsigned long long* out, int count) {
    unsigned long long best = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        const unsigned long long key = (unsigned long long)(unsigned)in[i] << 32 | (unsigned)i;
        best = key > best ? key : best;
    }
    for (int step = 16; step > 0; step /= 2) {
        const unsigned long long other = __shfl_xor_sync(~0u, best, step);
        best = other > best ? other : best;
    }
    if (threadIdx.x % 32 == 0) atomicMax(out, best);
}
