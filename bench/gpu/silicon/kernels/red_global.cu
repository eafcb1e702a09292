// Reductions without a result in global memory, many threads at few words, of every type: REDG.E.ADD REDG.E.ADD.64 REDG.E.MIN.S32 REDG.E.MAX REDG.E.MAX.64 REDG.E.AND REDG.E.OR REDG.E.XOR REDG.E.XOR.64 MEMBAR.ALL.SYS
#include "rare.cuh"
KERNEL kernel(PARAMS) {
    u32 x = get(in, n, 0), y = get(in, n, 1);
    Chains w(x);
    u32 *p = out + 65536;
    for (u32 r = 0; r < n >> 18; r++) {
        u32 t = (x >> 7) & 255;
        atomicAdd(p + t, x);
        atomicMax(p + 256 + t, y);
        atomicMin((int *)p + 512 + t, (int)x);
        w.step(x ^ y);
        atomicMax((int *)p + 768 + t, (int)y);
        atomicOr(p + 1024 + t, x & y);
        atomicXor(p + 1280 + t, w.a);
        atomicAnd(p + 1536 + t, w.b);  // of zero: nothing
        if (x & 1) asm volatile("red.relaxed.gpu.global.inc.u32 [%0], %1;" ::"l"(p + 1792 + t), "r"(ALL) : "memory");
        atomicAdd((u64 *)(p + 2048) + t, ((u64)x << 20) | y);
        w.step(y + r);
        if (w.c & 2) atomicMax((u64 *)(p + 2560) + t, ((u64)y << 32) | x);
        asm volatile("red.relaxed.gpu.global.xor.b64 [%0], %1;" ::"l"((u64 *)(p + 3072) + t), "l"(((u64)w.a << 32) | w.b) : "memory");
        asm volatile("red.relaxed.cta.global.add.u32 [%0], %1;" ::"l"(p + 4096 + blockIdx.x * 256 + t), "r"(x) : "memory");
        asm volatile("red.release.sys.global.add.u32 [%0], %1;" ::"l"(p + 8192 + t), "r"(y) : "memory");
        x = mix(x, w.a);
        y = mix(y, w.b);
    }
    out[gid()] = w.end();
}
