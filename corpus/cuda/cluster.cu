// A histogram spread over the shared memory of a thread-block cluster.
// needs sm_90: clusters
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster_histogram(const int* __restrict__ in, int* __restrict__ bins,
                                                                        int count) {
    __shared__ int local[256];
    const cg::cluster_group cluster = cg::this_cluster();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) local[i] = 0;
    cluster.sync();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        const int bin = in[i] & 511;
        atomicAdd(cluster.map_shared_rank(local, bin / 256) + bin % 256, 1);
    }
    cluster.sync();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&bins[cluster.block_rank() * 256 + i], local[i]);
}
