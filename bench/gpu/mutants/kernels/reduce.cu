// Sum, minimum with its place, and a count of votes per block: shuffles, ballots, shared memory.
extern "C" __global__ void kernel(const int* in, long long* sums, int* lows, int* places, int* votes, int n) {
    __shared__ long long partial[32];
    __shared__ int low[32], at[32], seen[32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    long long sum = 0;
    int least = 0x7fffffff, place = -1, odd = 0;
    for (int base = blockIdx.x * blockDim.x; base < n; base += gridDim.x * blockDim.x) {
        int i = base + threadIdx.x;
        int v = i < n ? in[i] : 0;
        sum += v;
        if (i < n && v < least) { least = v; place = i; }
        odd += __popc(__ballot_sync(~0u, i < n && (v & 1)));
    }
    for (int d = 16; d; d >>= 1) {
        sum += __shfl_down_sync(~0u, sum, d);
        int v = __shfl_down_sync(~0u, least, d), p = __shfl_down_sync(~0u, place, d);
        if (v < least || (v == least && p < place)) { least = v; place = p; }
    }
    if (lane == 0) { partial[warp] = sum; low[warp] = least; at[warp] = place; seen[warp] = odd; }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < blockDim.x / 32; w++) {
            sum += partial[w];
            odd += seen[w];
            if (low[w] < least || (low[w] == least && at[w] < place)) { least = low[w]; place = at[w]; }
        }
        sums[blockIdx.x] = sum;
        lows[blockIdx.x] = least;
        places[blockIdx.x] = place;
        votes[blockIdx.x] = odd;
    }
}
