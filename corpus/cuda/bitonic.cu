// Bitonic sort of a block in shared memory; the last steps stay inside a warp.
extern "C" __global__ void __launch_bounds__(512) bitonic(unsigned* __restrict__ keys, unsigned* __restrict__ values) {
    __shared__ unsigned key[1024], value[1024];
    const int base = blockIdx.x * 1024;
    for (int i = threadIdx.x; i < 1024; i += 512) {
        key[i] = keys[base + i];
        value[i] = values[base + i];
    }
    for (int size = 2; size <= 1024; size *= 2)
        for (int stride = size / 2; stride > 0; stride /= 2) {
            if (stride >= 32)
                __syncthreads();
            else
                __syncwarp();
            const int at = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
            const bool up = (at & size) == 0;
            if ((key[at] > key[at + stride]) == up) {
                const unsigned k = key[at], v = value[at];
                key[at] = key[at + stride], value[at] = value[at + stride];
                key[at + stride] = k, value[at + stride] = v;
            }
        }
    __syncthreads();
    for (int i = threadIdx.x; i < 1024; i += 512) {
        keys[base + i] = key[i];
        values[base + i] = value[i];
    }
}
