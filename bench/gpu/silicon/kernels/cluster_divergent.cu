// Cluster barriers that are not aligned, from branches, and lanes that exit before the last one: WARPSYNC UCGABAR_ARV UCGABAR_WAIT BSSY
// launch: grid=8 block=128 cluster=2
#include "async.cuh"
KERNEL __cluster_dims__(2, 1, 1) kernel(PARAMS) {
    __shared__ u32 s[128];
    u32 x = get(in, n, 0), other = cluster_rank() ^ 1;
    Chains w(x);
    s[tid()] = x;
    if (x & 1) {
        w.step(1);
        asm volatile("barrier.cluster.arrive.release;" ::: "memory");
        w.step(in[x >> 12]);
    } else {
        w.step(2);
        asm volatile("barrier.cluster.arrive.release;" ::: "memory");
        w.b ^= 5;
    }
    asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
    u32 v = remote_load(map(&s[tid() ^ 9], other));
    w.step(v);
    asm volatile("barrier.cluster.arrive.release;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
    if ((v & 3) == 0) {
        out[gid()] = w.end();
        return;
    }
    w.step(v + 1);
    out[gid()] = w.end() ^ 1;
}
