// Cluster barriers, arrival and wait apart, release and relaxed, work between: UCGABAR_ARV UCGABAR_WAIT
// launch: grid=8 block=256 cluster=4
#include "async.cuh"
KERNEL __cluster_dims__(4, 1, 1) kernel(PARAMS) {
    __shared__ u32 s[2][256];
    u32 x = get(in, n, 0), me = cluster_rank();
    Chains w(x);
    for (u32 r = 0; r < n >> 18; r++) {
#pragma unroll
        for (int k = 0; k < 2; k++) {
            s[k][tid()] = w.a + r;
            cluster_arrive();
            w.step(x);
            w.step(in[(x >> 12) & (n - 1)]);
            cluster_wait();
            u32 v = remote_load(map(&s[k][(tid() * 3 + r) & 255], (me + 1 + k) & 3));
            w.step(v);
            x = mix(x, v);
        }
        cluster_arrive_relaxed();
        w.step(r);
        cluster_wait();
    }
    cluster_sync();  // nobody leaves while others read
    out[gid()] = w.end();
}
