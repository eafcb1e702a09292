// Special registers that are the same in every run, read in several places: S2R S2UR SR_LANEID SR_EQMASK SR_LTMASK SR_LEMASK SR_GTMASK SR_GEMASK SR_VIRTID SR_VIRTUALSMID
#include "rare.cuh"
#define READ(NAME) ({ u32 v; asm volatile("mov.u32 %0, %%" NAME ";" : "=r"(v)); v; })
KERNEL kernel(PARAMS) {
    u32 x = get(in, n, 0);
    Chains w(x);
    for (u32 r = 0; r < n >> 19; r++) {
        w.step(READ("laneid") + READ("ntid.x") * 32);
        w.step(READ("lanemask_eq") ^ x);
        w.step(READ("lanemask_lt") + READ("lanemask_ge"));
        w.step(READ("lanemask_le") * (READ("lanemask_gt") | 1));
        w.step(READ("ctaid.x") + READ("ctaid.y") * 3 + READ("ctaid.z") * 5);
        w.step(READ("nctaid.x") ^ READ("nctaid.y") << 8 ^ READ("nctaid.z") << 16);
        w.step(READ("ntid.y") + READ("ntid.z") * 7 + READ("tid.y") + READ("tid.z"));
        if (READ("laneid") & 1) w.step(READ("dynamic_smem_size"));
        w.step(READ("cluster_ctarank") + READ("cluster_nctarank") * 9);
        w.step(READ("clusterid.x") ^ READ("nclusterid.x") << 9);
        w.step(READ("laneid") == lane() ? w.a : 0);
        u32 sm = READ("smid"), sms = READ("nsmid");
        if (sm >= sms) w.a = 0;  // never
        u32 wid = READ("warpid"), nwid = READ("nwarpid");
        w.b += wid < nwid;
    }
    out[gid()] = w.end();
}
