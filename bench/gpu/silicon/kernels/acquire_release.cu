// Two blocks hand data back and forth by acquire loads and release stores of every width: LDG.E.STRONG.GPU STG.E.64.STRONG.GPU STG.E.U16.STRONG.GPU ATOMG.E.EXCH CCTL.IVALL MEMBAR.ALL.GPU
// launch: grid=2 block=128
#include "rare.cuh"
KERNEL kernel(PARAMS) {
    u32 x = get(in, n, 0);
    Chains w(x);
    u32 me = blockIdx.x;
    u32 *flags = out + 800000, *data = out + 600000;
    for (u32 r = 0; r < n >> 17; r++) {
        if ((r & 1) == me) {
            u64 q = ((u64)w.a << 32) | w.b;
            asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(data + r * 512 + tid() * 2), "l"(q) : "memory");
            asm volatile("st.relaxed.gpu.global.u16 [%0], %1;" ::"l"(data + r * 512 + 256 + tid()), "h"((short)w.c) : "memory");
            w.step(x + r);
            __syncthreads();
            if (tid() == 0) asm volatile("{ .reg .u32 t; atom.release.gpu.global.exch.b32 t, [%0], 1; }" ::"l"(flags + r) : "memory");
        } else {
            if (tid() == 0) {
                u32 v;
                do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(flags + r) : "memory");
                while (v != 1);
            }
            __syncthreads();
            u64 q;
            unsigned short h;
            asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(q) : "l"(data + r * 512 + (tid() ^ 1) * 2) : "memory");
            asm volatile("ld.relaxed.gpu.global.u16 %0, [%1];" : "=h"(h) : "l"(data + r * 512 + 256 + (tid() ^ 3)) : "memory");
            w.step((u32)q ^ (u32)(q >> 32));
            w.step(h);
            x = mix(x, (u32)q);
        }
    }
    out[gid()] = w.end();
}
