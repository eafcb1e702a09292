// Where a block is in its cluster: S2R S2UR SR_CgaCtaId LD.E UCGABAR_WAIT
// launch: grid=8 block=64 cluster=8
#include "async.cuh"
#define READ(NAME) ({ u32 v; asm volatile("mov.u32 %0, %%" NAME ";" : "=r"(v)); v; })
KERNEL __cluster_dims__(8, 1, 1) kernel(PARAMS) {
    __shared__ u32 s[64];
    u32 x = get(in, n, 0);
    Chains w(x);
    w.step(READ("cluster_ctarank") + 100 * READ("cluster_nctarank"));
    w.step(READ("cluster_ctaid.x") + 10 * READ("cluster_ctaid.y") + 100 * READ("cluster_ctaid.z"));
    w.step(READ("cluster_nctaid.x") + 10 * READ("cluster_nctaid.y") + 100 * READ("cluster_nctaid.z"));
    w.step(READ("clusterid.x") + 10 * READ("nclusterid.x") + 100 * READ("clusterid.y"));
    u32 p;
    asm volatile("{ .reg .pred p; mov.pred p, %%is_explicit_cluster; selp.u32 %0, 1, 0, p; }" : "=r"(p));
    w.step(p);
    s[tid()] = w.a;
    cluster_sync();
    for (u32 k = 0; k < 8; k++) {
        u32 a = map(&s[(tid() + k) & 63], (cluster_rank() + k) & 7), rank;
        asm volatile("getctarank.shared::cluster.u32 %0, %1;" : "=r"(rank) : "r"(a));
        w.step(remote_load(a) + rank);
    }
    cluster_sync();
    out[gid()] = w.end();
}
