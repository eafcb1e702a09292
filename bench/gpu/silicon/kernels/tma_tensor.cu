// Tensor copies by a map that the host made: loads, stores, prefetches: UTMALDG.2D UTMASTG.2D UTMAPF.L2.2D UTMACCTL.IV
// tensormap: yes
#include "async.cuh"
// The maps are in the last 256 bytes of the input: of `in` and of `out`, as 1024 rows of 1024 words, boxes of 32 by 8.
DEV void load(void *to, u64 map, u32 column, u32 row, u64 *bar) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(shared_address(to)), "l"(map), "r"(column), "r"(row), "r"(shared_address(bar)) : "memory");
}
DEV void store(u64 map, u32 column, u32 row, const void *from) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map), "r"(column), "r"(row), "r"(shared_address(from)) : "memory");
}
KERNEL kernel(PARAMS) {
    __shared__ u64 bar[2];
    __shared__ __align__(128) u32 s[2][256], t[2][256];
    u32 x = get(in, n, 0);
    Chains w(x);
    u64 from = global_address(in + n - 64), to = global_address(in + n - 32);
    if (tid() < 2) bar_init(&bar[tid()], 1);
    fence_init();
    if (tid() == 0) {
        asm volatile("fence.proxy.tensormap::generic.acquire.sys [%0], 128;" ::"l"(from) : "memory");
        asm volatile("fence.proxy.tensormap::generic.acquire.sys [%0], 128;" ::"l"(to) : "memory");
        asm volatile("prefetch.tensormap [%0];" ::"l"(from) : "memory");
    }
    __syncthreads();
    for (u32 r = 0; r < 6; r++) {
        u32 k = r & 1, row = blockIdx.x * 64 + r * 8, column = 32 * (r + blockIdx.x);
        if (tid() == 0) {
            bulk_wait_read<1>();
            bar_expect(&bar[k], 1024);
            load(s[k], from, column, row, &bar[k]);
            asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global [%0, {%1, %2}];" ::"l"(from), "r"(column), "r"(row + 8) : "memory");
        }
        w.step(x);
        bar_wait(&bar[k], (r >> 1) & 1);
        u32 v = s[k][tid() ^ 37];
        w.step(v);
        t[k][tid()] = w.a;
        fence_async();
        __syncthreads();
        if (tid() == 0) {
            store(to, column, row, t[k]);
            store(to, 1008, row, s[k]);  // half of it outside
            bulk_commit();
        }
        x = mix(x, v);
        __syncthreads();
    }
    if (tid() == 0) bulk_wait<0>();
    out[700000 + gid()] = w.end();
}
