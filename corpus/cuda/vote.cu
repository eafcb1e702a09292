// Warp votes and matches: stream compaction, aggregated atomics, leader election among equal keys.
// needs sm_70: warp match
extern "C" __global__ void compact(const int* __restrict__ in, int* __restrict__ out, int* __restrict__ used, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    const bool keep = i < count && in[i] > 0;
    const unsigned kept = __ballot_sync(~0u, keep);
    int base = 0;
    if (lane == 0) base = atomicAdd(used, __popc(kept));
    base = __shfl_sync(~0u, base, 0);
    if (keep) out[base + __popc(kept & ((1u << lane) - 1))] = in[i];
}

extern "C" __global__ void aggregate(const int* __restrict__ keys, unsigned* __restrict__ counts, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const unsigned active = __activemask(), equal = __match_any_sync(active, keys[i]);
    int uniform;
    const unsigned same = __match_all_sync(active, keys[i], &uniform);
    if (threadIdx.x % 32 == __ffs(equal) - 1) atomicAdd(&counts[keys[i]], __popc(equal));
    if (uniform && __all_sync(active, same != 0) && !__any_sync(active, keys[i] < 0)) counts[0] = same;
}
