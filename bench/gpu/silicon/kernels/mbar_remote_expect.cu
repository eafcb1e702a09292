// Arrivals at another block's barrier that announce bytes, which are then stored there: SYNCS.ARRIVE.TRANS64.RED STAS
// launch: grid=8 block=256 cluster=2
#include "async.cuh"
KERNEL __cluster_dims__(2, 1, 1) kernel(PARAMS) {
    __shared__ u64 full[2];
    __shared__ __align__(16) u32 s[2][256];
    u32 x = get(in, n, 0), other = cluster_rank() ^ 1;
    Chains w(x);
    if (tid() == 0) {
        for (int k = 0; k < 2; k++) bar_init(&full[k], 8);
        fence_init();
    }
    __syncthreads();
    cluster_sync();
    for (u32 r = 0; r < n >> 17; r++) {
        u32 k = r & 1, phase = (r >> 1) & 1, bar = map(&full[k], other);
        // One thread of each warp says how many bytes its warp will send.
        if (lane() == 0) asm volatile("mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%0], %1;" ::"r"(bar), "r"(128) : "memory");
        asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(map(&s[k][tid()], other)), "r"(w.a ^ r), "r"(bar) : "memory");
        w.step(x + r);
        bar_wait_cluster(&full[k], phase);
        u32 v = s[k][(tid() * 7 + r) & 255];
        w.step(v);
        x = mix(x, v);
        cluster_sync();  // both have read before the other sends again
    }
    out[gid()] = w.end();
}
