// Bulk reductions from one block's shared memory into another's: UBLKRED.S.S SYNCS.PHASECHK UCGABAR_WAIT
// launch: grid=8 block=128 cluster=2
#include "async.cuh"
#define REDUCE(TYPE, PLACE) \
    asm volatile("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes." TYPE " [%0], [%1], 512, [%2];" ::"r"(map(sum[PLACE], other)), "r"(shared_address(mine[(PLACE) & 1])), \
                 "r"(map(&bar, other)) \
                 : "memory")
KERNEL __cluster_dims__(2, 1, 1) kernel(PARAMS) {
    __shared__ u64 bar;
    __shared__ __align__(128) u32 mine[2][128], sum[8][128];
    u32 x = get(in, n, 0), other = cluster_rank() ^ 1;
    Chains w(x);
    for (int k = 0; k < 8; k++) sum[k][tid()] = mix(x, k);
    if (tid() == 0) bar_init(&bar, 1);
    fence_init();
    for (u32 r = 0; r < 4; r++) {
        mine[0][tid()] = w.a;
        mine[1][tid()] = w.b ^ w.c;
        fence_async();
        __syncthreads();
        if (tid() == 0) bar_expect(&bar, 8 * 512);
        cluster_sync();
        if (tid() == 0) {
            REDUCE("add.u32", 0);
            REDUCE("min.s32", 1);
            REDUCE("max.u32", 2);
            REDUCE("and.b32", 3);
            REDUCE("or.b32", 4);
            REDUCE("xor.b32", 5);
            REDUCE("inc.u32", 6);
            REDUCE("add.s32", 7);
        }
        w.step(x + r);
        bar_wait_cluster(&bar, r & 1);
#pragma unroll
        for (int k = 0; k < 8; k++) w.step(sum[k][(tid() + k * 16) & 127]);
        x = mix(x, w.a);
        cluster_sync();
    }
    out[gid()] = w.end();
}
