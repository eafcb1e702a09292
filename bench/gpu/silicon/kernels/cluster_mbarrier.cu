// Barriers in another block's memory that a block arrives at, and waits at its own: SYNCS.ARRIVE SYNCS.PHASECHK UCGABAR_WAIT
// launch: grid=8 block=256 cluster=2
#include "async.cuh"
KERNEL __cluster_dims__(2, 1, 1) kernel(PARAMS) {
    __shared__ u64 full[2], empty[2];
    __shared__ u32 s[2][256];
    u32 x = get(in, n, 0), other = cluster_rank() ^ 1;
    Chains w(x);
    if (tid() == 0) {
        for (int k = 0; k < 2; k++) {
            bar_init(&full[k], 256);
            bar_init(&empty[k], 256);
        }
        fence_init();
    }
    __syncthreads();
    cluster_sync();
    for (u32 r = 0; r < n >> 17; r++) {
        u32 k = r & 1, phase = (r >> 1) & 1;
        if (r >= 2) bar_wait_cluster(&empty[k], phase ^ 1);  // the other block has read what was sent two rounds ago
        remote_store(map(&s[k][tid()], other), w.a ^ r);
        asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(map(&full[k], other)) : "memory");
        w.step(x + r);
        bar_wait_cluster(&full[k], phase);
        u32 v = s[k][(tid() * 7 + r) & 255];
        w.step(v);
        asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(map(&empty[k], other)) : "memory");
        x = mix(x, v);
    }
    cluster_sync();
    out[gid()] = w.end();
}
