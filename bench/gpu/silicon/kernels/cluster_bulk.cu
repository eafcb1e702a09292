// Bulk copies from one block's shared memory into another's, and a multicast from global memory: UBLKCP SYNCS.PHASECHK
// launch: grid=8 block=128 cluster=2
// arch: sm_90a
#include "async.cuh"
KERNEL __cluster_dims__(2, 1, 1) kernel(PARAMS) {
    __shared__ u64 bar[2];
    __shared__ __align__(128) u32 mine[512], theirs[512], common[512];
    u32 x = get(in, n, 0), me = cluster_rank(), other = me ^ 1;
    Chains w(x);
    if (tid() == 0) {
        bar_init(&bar[0], 1);
        bar_init(&bar[1], 1);
        fence_init();
    }
    __syncthreads();
    for (u32 r = 0; r < 4; r++) {
        for (u32 k = tid(); k < 512; k += 128) mine[k] = w.a + k * x;
        fence_async();
        if (tid() == 0) {
            bar_expect(&bar[0], 2048);
            bar_expect(&bar[1], 2048);
        }
        __syncthreads();
        cluster_sync();
        if (tid() == 0) {
            asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 2048, [%2];" ::"r"(map(theirs, other)), "r"(shared_address(mine)), "r"(map(&bar[0], other))
                         : "memory");
            // Each block sends one half to both.
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], 1024, [%2], %3;" ::"r"(shared_address(&common[256 * me])),
                         "l"(global_address(&in[(blockIdx.x / 2 * 8 + r) * 512 + 256 * me])), "r"(shared_address(&bar[1])), "h"((short)3)
                         : "memory");
        }
        w.step(x + r);
        bar_wait(&bar[0], r & 1);
        w.step(theirs[tid() * 4 + 1] ^ theirs[tid() + 7]);
        bar_wait(&bar[1], r & 1);
        w.step(common[tid() * 4 + 3] + common[511 - tid()]);
        x = mix(x, w.b);
        cluster_sync();
    }
    out[gid()] = w.end();
}
