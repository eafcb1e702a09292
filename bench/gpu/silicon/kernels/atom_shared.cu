// Atomics in shared memory by every operation, results used, each thread at its own word and then many at one: ATOMS.ADD ATOMS.INC ATOMS.DEC ATOMS.MIN ATOMS.MAX ATOMS.AND ATOMS.OR ATOMS.XOR ATOMS.EXCH ATOMS.CAS
#include "rare.cuh"
KERNEL kernel(PARAMS) {
    __shared__ u32 s[256];
    __shared__ u32 common[16];
    u32 x = get(in, n, 0), y = get(in, n, 1);
    Chains w(x);
    s[tid()] = x;
    if (tid() < 16) common[tid()] = 0;
    __syncthreads();
    u32 *p = &s[tid()];
    for (u32 r = 0; r < n >> 18; r++) {
        w.step(atomicAdd(p, y));
        w.step(atomicInc(p, w.a));
        w.step(atomicDec(p, w.b));
        u32 a = atomicMin(p, w.c), b = atomicMax(p, w.d);  // one after the other
        w.step(a ^ b);
        w.step((u32)atomicMin((int *)p, (int)w.a) + (u32)atomicMax((int *)p, (int)w.b));
        w.step(atomicAnd(p, w.c | 0xff00ffu));
        w.step(atomicOr(p, w.d & 0xf0f0f0u));
        w.step(atomicXor(p, x));
        u32 old = atomicExch(p, w.a);
        if (old & 1) w.b += old;
        u32 seen = atomicCAS(p, old & 2 ? w.a : 0, w.d);
        w.c = seen == w.a ? w.c + 1 : seen;
        // Without results, at common words.
        atomicAdd(&common[x & 3], y & 0xffff);
        atomicMin(&common[4 + (x & 3)], y);
        atomicMax(&common[8 + (x & 3)], y);
        atomicXor(&common[12 + (x & 3)], y);
        x = mix(x, w.a);
        y = mix(y, w.b);
    }
    __syncthreads();
    w.step(*p + common[tid() & 15]);
    out[gid()] = w.end();
}
