// Loops of compare and swap, 32 and 64 bits, global and shared, with and without contention: ATOMS.CAS ATOMS.CAS.64 ATOMG.E.CAS ATOMG.E.CAS.64 BSSY
#include "rare.cuh"
KERNEL kernel(PARAMS) {
    __shared__ u32 s[4];
    __shared__ u64 t[4];
    u32 x = get(in, n, 0), y = get(in, n, 1);
    Chains w(x);
    if (tid() < 4) { s[tid()] = 0; t[tid()] = 0; }
    __syncthreads();
    for (u32 r = 0; r < 3; r++) {
        // Sums and products of odd numbers: any order gives the same.
        u32 *p = &s[x & 3], old = *(volatile u32 *)p, now;
        do {
            now = old;
            old = atomicCAS(p, now, now + (y ^ 3));
        } while (old != now);
        w.step(x);
        u64 *q = &t[y & 3], last = *(volatile u64 *)q, then;
        do {
            then = last;
            last = atomicCAS(q, then, then ^ (((u64)x << 32) | y));
        } while (last != then);
        u32 *g = out + 65536 + blockIdx.x * 4 + (x >> 4 & 3);
        old = *(volatile u32 *)g;
        do {
            now = old;
            old = atomicCAS(g, now, (now + 1) * (y | 1) - 1);
        } while (old != now);
        u64 *h = (u64 *)(out + 131072) + (y >> 4 & 7);
        last = *(volatile u64 *)h;
        do {
            then = last;
            last = atomicCAS(h, then, then + (((u64)y << 32) | x));
        } while (last != then);
        w.step(y);
        x = mix(x, w.a);
        y = mix(y, w.b);
    }
    __syncthreads();
    w.step(s[tid() & 3] ^ (u32)t[tid() >> 2 & 3] ^ (u32)(t[tid() & 3] >> 32));
    out[gid()] = w.end();
}
