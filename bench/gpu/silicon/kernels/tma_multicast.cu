// Tensor copies into all blocks of a cluster, in two, three and four dimensions: UTMALDG.2D.MULTICAST UTMALDG.3D.MULTICAST UTMALDG.4D.MULTICAST
// launch: grid=8 block=256 cluster=2
// arch: sm_90a
// tensormap: yes
#include "async.cuh"
// Pairs of maps of `in` and `out` from the end of the input: 2, 1, 3, 4 and 5 dimensions; boxes are 256 words each.
DEV u64 map_of(const u32 *in, u32 n, u32 pair) { return global_address(in + n - 64 * (pair + 1)); }
#define LOAD(D, FROM, TO, PLACES, ...) \
    asm volatile("cp.async.bulk.tensor." D ".shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {" PLACES "}], [%2], %3;" ::"r"(shared_address(TO)), \
                 "l"(FROM), "r"(shared_address(&bar[k])), "h"((unsigned short)3), __VA_ARGS__ : "memory")
KERNEL __cluster_dims__(2, 1, 1) kernel(PARAMS) {
    __shared__ u64 bar[2];
    __shared__ __align__(128) u32 s[2][3][256];
    u32 x = get(in, n, 0), rank = cluster_rank(), pair = blockIdx.x >> 1;
    Chains w(x);
    if (tid() < 2) bar_init(&bar[tid()], 1);
    fence_init();
    __syncthreads();
    cluster_sync();
    for (u32 r = 0; r < 8; r++) {
        const u32 k = r & 1;
        if (tid() == 0) {
            bar_expect(&bar[k], 3 * 1024);
            // Blocks take turns: one sends two boxes to both, the other the third.
            if (rank == k) {
                LOAD("2d", map_of(in, n, 0), s[k][0], "%4, %5", "r"(32 * (r + pair)), "r"(8 * (pair + r)));
                LOAD("3d", map_of(in, n, 2), s[k][1], "%4, %5, %6", "r"(32 * r), "r"(4 * pair), "r"(2 * pair));
            } else {
                LOAD("4d", map_of(in, n, 3), s[k][2], "%4, %5, %6, %7", "r"(16 * (r & 3)), "r"(4 * pair), "r"(2 * (r & 3)), "r"(2 * pair));
            }
        }
        w.step(x);
        bar_wait_cluster(&bar[k], (r >> 1) & 1);
        const u32 v = s[k][0][tid() ^ 37] ^ s[k][1][tid() ^ 5] * 3 ^ s[k][2][255 - tid()] * 5;
        w.step(v);
        x = mix(x, v);
        cluster_sync();  // both have read before anybody sends again
    }
    out[gid()] = w.end();
}
