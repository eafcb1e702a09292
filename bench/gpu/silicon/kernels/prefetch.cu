// Prefetches, priorities and discards of lines that are written afterwards: CCTL.E.PF1 CCTL.E.PF2 CCTL.E.PML2 CCTL.E.RML2 CCTL.E.DML2
#include "rare.cuh"
KERNEL kernel(PARAMS) {
    u32 x = get(in, n, 0);
    Chains w(x);
    u32 *mine = out + 262144 + gid() * 32;  // a line of 128 bytes
    for (u32 r = 0; r < n >> 18; r++) {
        const u32 *p = &in[(x >> 12) & (n - 1)], *q = &in[(x >> 9) & (n - 1)];
        asm volatile("prefetch.global.L1 [%0];" ::"l"(global_address(p)));
        asm volatile("prefetch.global.L2 [%0];" ::"l"(global_address(q)));
        asm volatile("prefetch.global.L2::evict_last [%0];" ::"l"(global_address(q)));
        asm volatile("prefetchu.L1 [%0];" ::"l"(p));
        asm volatile("applypriority.global.L2::evict_normal [%0], 128;" ::"l"(global_address((const void *)((u64)q & ~127ull))));
        w.step(*p);
        asm volatile("discard.global.L2 [%0], 128;" ::"l"(global_address(mine)) : "memory");
        w.step(*q);
#pragma unroll
        for (int k = 0; k < 32; k += 4) *(uint4 *)(mine + k) = make_uint4(w.a + k, w.b, w.c ^ k, w.d);
        x = mix(x, w.a);
    }
    out[gid()] = w.end();
}
