// Bitonic sort of 1024 keys with their places per block; keys past the end count as largest. Equal keys keep the order of
// their places, so the result is unique.
extern "C" __global__ void __launch_bounds__(512)
sort(const int* __restrict__ keys, int* __restrict__ sorted, int* __restrict__ places, int count) {
    __shared__ int key[1024], place[1024];
    const int base = blockIdx.x * 1024;
    for (int i = threadIdx.x; i < 1024; i += 512) {
        key[i] = base + i < count ? keys[base + i] : 0x7fffffff;
        place[i] = base + i;
    }
    for (int size = 2; size <= 1024; size *= 2)
        for (int stride = size / 2; stride > 0; stride /= 2) {
            __syncthreads();
            const int at = 2 * threadIdx.x - (threadIdx.x & (stride - 1)), other = at + stride;
            const int k0 = key[at], k1 = key[other], p0 = place[at], p1 = place[other];
            const bool greater = k0 > k1 || (k0 == k1 && p0 > p1), up = (at & size) == 0;
            if (greater == up) {
                key[at] = k1, key[other] = k0;
                place[at] = p1, place[other] = p0;
            }
        }
    __syncthreads();
    for (int i = threadIdx.x; i < 1024; i += 512)
        if (base + i < count) {
            sorted[base + i] = key[i];
            places[base + i] = place[i];
        }
}
