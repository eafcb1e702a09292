// Halves of words from global and local memory, first to go from the cache: LDG.E.EF.U16 LDL.S16 STL.U16
#include "rare.cuh"
KERNEL kernel(PARAMS) {
    u32 x = get(in, n, 0);
    Chains w(x);
    short box[64];
    for (u32 k = 0; k < 64; k++) box[(k * 5 + (x & 3)) & 63] = (short)(x * k + k);
    u64 local;
    asm("{ .reg .u64 t; cvta.to.local.u64 %0, %1; }" : "=l"(local) : "l"((u64)box));
    for (u32 r = 0; r < n >> 17; r++) {
        const u32 place = (gid() * 3 + w.a) & (2 * n - 1);
        unsigned short a, b;
        short c, d;
        asm volatile("ld.global.L1::evict_first.u16 %0, [%1];" : "=h"(a) : "l"(global_address(in) + 2 * place));
        asm volatile("ld.global.L1::evict_first.u16 %0, [%1];" : "=h"(b) : "l"(global_address(in) + 2 * ((place + 7) & (2 * n - 1))));
        asm volatile("ld.local.s16 %0, [%1];" : "=h"(c) : "l"(local + 2 * (a & 63)) : "memory");
        asm volatile("ld.local.s16 %0, [%1];" : "=h"(d) : "l"(local + 2 * (b & 63)) : "memory");
        w.step((u32)c * 65539u + (u32)d);
        w.step(a ^ b << 16);
        box[w.b & 63] = (short)(w.a + c);
        x = mix(x, w.a);
    }
    out[gid()] = w.end() ^ x;
}
