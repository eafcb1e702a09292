// Layer norm with Welford's running mean and variance, merged across lanes and warps.
struct Moments {
    float mean, squares, count;
};

__device__ inline Moments merge(Moments a, Moments b) {
    const float count = a.count + b.count;
    if (count == 0) return a;
    const float delta = b.mean - a.mean, share = b.count / count;
    return {a.mean + delta * share, a.squares + b.squares + delta * delta * a.count * share, count};
}

extern "C" __global__ void layer_norm(const float* __restrict__ in, const float* __restrict__ gain,
                                      const float* __restrict__ bias, float* __restrict__ out, int width, float epsilon) {
    __shared__ Moments partial[32];
    const float* row = in + blockIdx.x * width;
    Moments own = {0, 0, 0};
    for (int i = threadIdx.x; i < width; i += blockDim.x) {
        const float value = row[i], delta = value - own.mean;
        own.count += 1;
        own.mean += delta / own.count;
        own.squares += delta * (value - own.mean);
    }
    for (int step = 16; step > 0; step /= 2) {
        const Moments other = {__shfl_xor_sync(~0u, own.mean, step), __shfl_xor_sync(~0u, own.squares, step),
                               __shfl_xor_sync(~0u, own.count, step)};
        own = merge(own, other);
    }
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = own;
    __syncthreads();
    own = partial[0];
    for (int warp = 1; warp < blockDim.x / 32; ++warp) own = merge(own, partial[warp]);
    const float scale = rsqrtf(own.squares / width + epsilon);
    for (int i = threadIdx.x; i < width; i += blockDim.x)
        out[blockIdx.x * width + i] = (row[i] - own.mean) * scale * gain[i] + bias[i];
}
