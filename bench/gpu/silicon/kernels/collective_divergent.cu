// Groups of eight lanes go their own ways, and meet for shuffles and votes of their own while the others are elsewhere: WARPSYNC.COLLECTIVE, ENDCOLLECTIVE, BRA.DIV, SHFL, VOTE.
// input: random
__device__ __forceinline__ unsigned scan(unsigned group, unsigned lane, unsigned value) {
#pragma unroll
    for (unsigned step = 1; step < 8; step *= 2) {
        const unsigned before = __shfl_up_sync(group, value, step, 8);
        if (lane >= step) value += before;
    }
    return value;
}

extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    __shared__ unsigned table[256], slot[256];
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 7;
    const unsigned group = 0xffu << (threadIdx.x & 24);
    unsigned x = in[t], sum = 0;
    table[threadIdx.x] = in[t + 2048];
    __syncthreads();
    // As often as the group's first lane says: groups of a warp leave one after the other.
    const unsigned rounds = 3 + (__shfl_sync(group, x, 0, 8) & 15);
    for (unsigned round = 0; round < rounds; round++) {
        unsigned own = table[(x >> 8) & 255];
        if (x & 1) {
            own = own * 5 + in[4096 + ((x >> 3) & 1023)];
            for (unsigned i = 0; i < (x >> 4 & 7); i++) own = own * 3 + table[(own + i) & 255];
        }
        const unsigned far = in[8192 + ((x >> 12) & 1023)];
        sum += scan(group, lane, own ^ round);
        sum ^= far;
        if (__ballot_sync(group, sum & 2) & 0x55u << (threadIdx.x & 24)) sum += scan(group, lane, far + lane);
        x = x * 1664525u + 1013904223u + (__shfl_xor_sync(group, sum, 1, 8) & 6);
        slot[threadIdx.x] = x ^ sum;
        __syncwarp(group);
        sum += slot[(threadIdx.x & ~7u) | ((lane + 3) & 7)];
        __syncwarp(group);
    }
    out[t] = sum;
    out[t + 2048] = x;
}
