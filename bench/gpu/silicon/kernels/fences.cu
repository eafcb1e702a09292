// Fences of every scope and kind between stores and loads, across blocks too: MEMBAR.SC.GPU MEMBAR.ALL.CTA MEMBAR.SC.SYS ERRBAR CCTL.IVALL FENCE.VIEW.ASYNC
#include "async.cuh"
KERNEL kernel(PARAMS) {
    __shared__ u32 s[256];
    u32 x = get(in, n, 0);
    Chains w(x);
    u32 *flag = out + 900000 + blockIdx.x * 32;
    u32 *data = out + 500000;
    // A value goes from block to block; all eight are on the machine at once.
    s[tid()] = x;
    __threadfence_block();
    w.step(x);
    __syncthreads();
    w.step(s[tid() ^ 77]);
    if (blockIdx.x) {
        if (tid() == 0) {
            u32 v;
            do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(flag) : "memory");
            while (v == 0);
        }
        __syncthreads();
        __threadfence();
        u32 v;
        asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(data + (blockIdx.x - 1) * 256 + tid()) : "memory");
        w.step(v);
    }
    data[blockIdx.x * 256 + tid()] = w.a;
    __threadfence_system();
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
    asm volatile("fence.sc.gpu;" ::: "memory");
    asm volatile("fence.acq_rel.cta;" ::: "memory");
    asm volatile("fence.sc.cta;" ::: "memory");
    w.step(x ^ 5);
    asm volatile("fence.acq_rel.cluster;" ::: "memory");
    asm volatile("fence.proxy.async;" ::: "memory");
    asm volatile("fence.proxy.async.global;" ::: "memory");
    asm volatile("fence.proxy.alias;" ::: "memory");
    __syncthreads();
    if (tid() == 0 && blockIdx.x + 1 < gridDim.x) asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(flag + 32) : "memory");
    w.step(w.b);
    out[gid()] = w.end();
}
