// Atomics in global memory by every operation, results used, each thread at its own word: ATOMG.E.ADD ATOMG.E.INC ATOMG.E.DEC ATOMG.E.MIN ATOMG.E.MAX ATOMG.E.AND ATOMG.E.OR ATOMG.E.XOR ATOMG.E.EXCH ATOMG.E.CAS
#include "rare.cuh"
KERNEL kernel(PARAMS) {
    u32 x = get(in, n, 0), y = get(in, n, 1);
    Chains w(x);
    u32 *p = out + 65536 + gid() * 2;
    u64 *q = (u64 *)(out + 131072 + gid() * 4);
    *p = y;
    for (u32 r = 0; r < n >> 19; r++) {
        w.step(atomicAdd(p, y));
        w.step(atomicInc(p, w.a));
        w.step(atomicDec(p, w.b));
        u32 a = atomicMin(p, w.c), b = atomicMax(p, w.d);
        w.step(a ^ b);
        w.step((u32)atomicMin((int *)p, (int)w.a) + (u32)atomicMax((int *)p, (int)w.b));
        w.step(atomicAnd(p, w.c | 0xff00ffu));
        w.step(atomicOr(p, w.d & 0xf0f0f0u));
        w.step(atomicXor(p, x));
        u32 old = atomicExch(p, w.a);
        if (old & 1) w.b += old;
        u32 seen = atomicCAS(p, old & 2 ? w.a : 0, w.d);
        w.c = seen == w.a ? w.c + 1 : seen;
        u64 c = atomicAdd(q, ((u64)x << 32) | y);
        u64 d = atomicMax(q, ((u64)y << 32) | x);
        u64 e = atomicXor(q, c + 1);
        u64 f = atomicExch(q, d ^ e);
        u64 g = atomicCAS(q, f & 1 ? d ^ e : 0, c);
        w.step((u32)(c >> 32) + (u32)d);
        w.step((u32)e ^ (u32)(f >> 32) ^ (u32)g);
        x = mix(x, w.a);
        y = mix(y, w.b);
    }
    out[gid()] = w.end();
}
