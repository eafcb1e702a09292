// Atomics on generic addresses, of 32 and 64 bits: ATOM.E.MAX.64.STRONG.GPU ATOM.E.MIN.64.STRONG.GPU ATOM.E.ADD.64 ATOM.E.CAS.64
#include "rare.cuh"
KERNEL kernel(PARAMS) {
    __shared__ __align__(16) u64 s[64];
    u32 x = get(in, n, 0);
    Chains w(x);
    if (tid() < 64) s[tid()] = tid();
    __syncthreads();
    // One place is shared memory for half of the warps and global memory for the others: nobody can tell at compile time.
    u64 *global = (u64 *)(out + 65536 + blockIdx.x * 256);
    u64 *place = (warp() & 1) ? s : global;
    for (u32 r = 0; r < n >> 17; r++) {
        const u64 v = (u64)w.a << 20 | w.b;
        atomicMax((unsigned long long *)place + 0, v);  // in any order the same
        atomicMin((unsigned long long *)place + 1, v | 1);
        atomicAdd((unsigned long long *)place + 2, v);
        atomicMax((int *)(place + 3), (int)w.c);
        atomicXor((unsigned *)(place + 4), w.d);
        u64 *mine = place + 5 + ((tid() >> 6) & 3);
        u64 seen = *(volatile u64 *)mine, before;
        do {
            before = seen;
            seen = atomicCAS((unsigned long long *)mine, before, before + v);
        } while (seen != before);
        w.step(x + r);
        x = mix(x, w.a);
    }
    __syncthreads();
    if (tid() < 16) out[131072 + blockIdx.x * 16 + tid()] = ((u32 *)s)[tid()];
    out[gid()] = w.end();
}
