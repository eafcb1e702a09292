// Loads and stores in other blocks' shared memory, wide ones too: ST.E.128 LD.E.128 SR_SWINHI UCGABAR_ARV UCGABAR_WAIT
// launch: grid=8 block=256 cluster=2
#include "async.cuh"
KERNEL __cluster_dims__(2, 1, 1) kernel(PARAMS) {
    __shared__ __align__(16) u32 s[1024];
    __shared__ __align__(16) u32 t[1024];
    u32 x = get(in, n, 0), y = get(in, n, 1), me = cluster_rank(), other = me ^ 1;
    Chains w(x);
    cluster_sync();
    for (u32 r = 0; r < n >> 18; r++) {
        // Into the other block's s, then out of the other block's t.
        u32 to = map(&s[tid() * 4], other);
        asm volatile("st.shared::cluster.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(x), "r"(y), "r"(w.a), "r"(w.b) : "memory");
        t[tid() * 4] = w.c;
        t[tid() * 4 + 1] = w.d;
        t[tid() * 4 + 2] = x + r;
        t[tid() * 4 + 3] = y - r;
        cluster_sync();
        u32 a, b, c, d;
        u32 from = map(&t[((tid() + 1) & 255) * 4], other);
        asm volatile("ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(from) : "memory");
        u32 e = s[(tid() * 5 + 1) & 1023];
        w.step(a ^ e);
        w.step(b + c);
        w.step(d);
        x = mix(x, a);
        y = mix(y, e);
        cluster_sync();
    }
    out[gid()] = w.end();
}
