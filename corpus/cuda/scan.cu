// Inclusive prefix sum of a block: predicated shuffles in a warp, then across warps; and the carry into all blocks.
__device__ inline int warp_scan(int value) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        const int below = __shfl_up_sync(~0u, value, step);
        if (lane >= step) value += below;
    }
    return value;
}

extern "C" __global__ void scan(const int4* __restrict__ in, int4* __restrict__ out, int* __restrict__ totals) {
    __shared__ int sums[32];
    const int index = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int4 value = in[index];
    value.y += value.x;
    value.z += value.y;
    value.w += value.z;
    const int upto = warp_scan(value.w);
    if (lane == 31) sums[warp] = upto;
    __syncthreads();
    if (warp == 0) sums[lane] = warp_scan(lane < blockDim.x / 32 ? sums[lane] : 0);
    __syncthreads();
    const int before = upto - value.w + (warp > 0 ? sums[warp - 1] : 0);
    out[index] = make_int4(value.x + before, value.y + before, value.z + before, value.w + before);
    if (threadIdx.x == blockDim.x - 1) totals[blockIdx.x] = before + value.w;
}

// Decoupled look-back: spins on a flag that another block publishes.
extern "C" __global__ void carry(volatile int* flags, volatile int* totals, int* __restrict__ out, int count) {
    __shared__ int base;
    if (threadIdx.x == 0) {
        int sum = 0;
        for (int block = blockIdx.x - 1; block >= 0; --block) {
            while (flags[block] == 0) __threadfence();
            sum += totals[block];
            if (flags[block] == 2) break;
        }
        base = sum;
        totals[blockIdx.x] += sum;
        __threadfence();
        flags[blockIdx.x] = 2;
    }
    __syncthreads();
    const int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index < count) out[index] += base;
}
