// Shuffles and votes: a sum over a block, a scan over a warp, a ballot.
#include "device.h"

SHARED float partial[32];

GLOBAL void reduce(int n, const float *in, float *out) {
    float sum = 0;
    for (int i = index(); i < n; i += blocks() * threads())
        sum += in[i];
#pragma unroll
    for (int by = 16; by > 0; by /= 2)
        sum += down(sum, by);
    int lane = thread() & 31, warp = thread() >> 5;
    if (lane == 0)
        partial[warp] = sum;
    barrier();
    if (warp == 0) {
        sum = lane < threads() / 32 ? partial[lane] : 0;
#pragma unroll
        for (int by = 16; by > 0; by /= 2)
            sum += down(sum, by);
        if (lane == 0)
            out[block()] = sum;
    }
}

GLOBAL void scan(const int *in, int *out, u32 *votes) {
    int i = index(), lane = thread() & 31;
    int value = in[i];
    u32 vote = __nvvm_vote_ballot_sync(~0u, value > 0);
#pragma unroll
    for (int by = 1; by < 32; by *= 2) {
        int other = up(value, by);
        value += lane >= by ? other : 0;
    }
    out[i] = value;
    if (lane == 0)
        votes[i / 32] = vote;
}

// A bitonic sort of a warp's values.
GLOBAL void sort32(int *data) {
    int value = data[index()], lane = thread() & 31;
#pragma unroll
    for (int size = 2; size <= 32; size *= 2)
#pragma unroll
        for (int by = size / 2; by > 0; by /= 2) {
            int other = across(value, by);
            bool low = ((lane & by) == 0) == ((lane & size) == 0 || size == 32);
            value = (value < other) == low ? value : other;
        }
    data[index()] = value;
}
