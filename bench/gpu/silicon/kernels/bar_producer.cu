// Producer warps and consumer warps over two buffers, with named barriers: BAR.ARV BAR.SYNC
#include "rare.cuh"
#define SYNC(ID) asm volatile("bar.sync " ID ", 256;" ::: "memory")
#define ARRIVE(ID) asm volatile("bar.arrive " ID ", 256;" ::: "memory")
KERNEL kernel(PARAMS) {
    __shared__ u32 s[2][128];
    u32 x = get(in, n, 0);
    Chains w(x);
    u32 t = tid() & 127;
    u32 rounds = n >> 17;  // 8
    if (warp() < 4) {
        for (u32 r = 0; r < rounds; r += 2) {
            if (r) SYNC("3");
            w.step(x + r);
            s[0][t] = w.a ^ w.b;
            __threadfence_block();
            ARRIVE("1");
            if (r) SYNC("4");
            w.step(x ^ r);
            s[1][t] = w.c + w.d;
            __threadfence_block();
            ARRIVE("2");
        }
    } else {
        for (u32 r = 0; r < rounds; r += 2) {
            SYNC("1");
            u32 a = s[0][(t + r) & 127], b = s[0][t ^ 1];
            if (r + 2 < rounds) ARRIVE("3");
            w.step(a);
            w.step(b);
            SYNC("2");
            u32 c = s[1][(t + 3 * r) & 127], d = s[1][t ^ 2];
            if (r + 2 < rounds) ARRIVE("4");
            w.step(c ^ d);
        }
    }
    out[gid()] = w.end();
}
