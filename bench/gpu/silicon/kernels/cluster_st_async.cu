// Asynchronous stores into another block's memory that complete at its barrier: STAS SYNCS.ARRIVE SYNCS.PHASECHK
// launch: grid=8 block=128 cluster=2
#include "async.cuh"
KERNEL __cluster_dims__(2, 1, 1) kernel(PARAMS) {
    __shared__ u64 bar[2];
    __shared__ __align__(16) u32 s[2][128 * 8];
    u32 x = get(in, n, 0), other = cluster_rank() ^ 1;
    Chains w(x);
    const u32 bytes = 128 * 28;
    if (tid() == 0) {
        bar_init(&bar[0], 1);
        bar_init(&bar[1], 1);
        fence_init();
        bar_expect(&bar[0], bytes);
        bar_expect(&bar[1], bytes);
    }
    __syncthreads();
    cluster_sync();
    for (u32 r = 0; r < 4; r++) {
        u32 k = r & 1, phase = (r >> 1) & 1;
        u32 to = map(&s[k][tid() * 8], other), b = map(&bar[k], other);
        asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(to), "r"(w.a), "r"(b) : "memory");
        asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u64 [%0], %1, [%2];" ::"r"(to + 8), "l"(((u64)w.b << 32) | x), "r"(b) : "memory");
        asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.u32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(to + 16), "r"(w.c), "r"(w.d), "r"(x ^ r), "r"(~w.a), "r"(b) : "memory");
        w.step(x);
        bar_wait(&bar[k], phase);
        u32 *mine = &s[k][((tid() + r) & 127) * 8];
        w.step(mine[0] ^ mine[2]);
        w.step(mine[3] + mine[4]);
        w.step(mine[5] ^ mine[6]);
        w.step(mine[7]);
        x = mix(x, w.a);
        __syncthreads();
        if (tid() == 0 && r < 2) bar_expect(&bar[k], bytes);
        cluster_sync();
    }
    out[gid()] = w.end();
}
