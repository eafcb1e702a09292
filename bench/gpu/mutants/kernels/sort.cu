// Bitonic sort of a block's keys with their places; keys past the end are treated as largest.
extern "C" __global__ void kernel(const int* keys, int* sorted, int* places, int n) {
    __shared__ int key[256], place[256];
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    key[t] = i < n ? keys[i] : 0x7fffffff;
    place[t] = i;
    __syncthreads();
    for (int size = 2; size <= 256; size <<= 1)
        for (int step = size >> 1; step; step >>= 1) {
            int other = t ^ step;
            if (other > t) {
                bool up = !(t & size);
                int x = key[t], y = key[other], px = place[t], py = place[other];
                bool greater = x > y || (x == y && px > py);
                if (greater == up) {
                    key[t] = y;
                    key[other] = x;
                    place[t] = py;
                    place[other] = px;
                }
            }
            __syncthreads();
        }
    if (i < n) {
        sorted[i] = key[t];
        places[i] = place[t];
    }
}
