// Inclusive prefix sums of 1024 integers per block, and the block's total: shuffles in a warp, then across warps.
__device__ inline int warp_scan(int value) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        const int below = __shfl_up_sync(~0u, value, step);
        if (lane >= step) value += below;
    }
    return value;
}

extern "C" __global__ void __launch_bounds__(256)
scan(const int* __restrict__ in, int* __restrict__ out, int* __restrict__ totals, int count) {
    __shared__ int sums[8];
    const int base = (blockIdx.x * 256 + threadIdx.x) * 4, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int4 value;
    if (base + 3 < count) {
        value = *reinterpret_cast<const int4*>(in + base);
    } else {
        value.x = base < count ? in[base] : 0;
        value.y = base + 1 < count ? in[base + 1] : 0;
        value.z = base + 2 < count ? in[base + 2] : 0;
        value.w = 0;
    }
    value.y += value.x;
    value.z += value.y;
    value.w += value.z;
    const int upto = warp_scan(value.w);
    if (lane == 31) sums[warp] = upto;
    __syncthreads();
    int before = upto - value.w;
#pragma unroll
    for (int i = 0; i < 8; ++i)
        if (i < warp) before += sums[i];
    if (base + 3 < count) {
        *reinterpret_cast<int4*>(out + base) =
            make_int4(value.x + before, value.y + before, value.z + before, value.w + before);
    } else {
        if (base < count) out[base] = value.x + before;
        if (base + 1 < count) out[base + 1] = value.y + before;
        if (base + 2 < count) out[base + 2] = value.z + before;
    }
    if (threadIdx.x == 255) totals[blockIdx.x] = before + value.w;
}
