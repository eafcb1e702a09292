// Asynchronous reductions into another block's memory, every operation: REDAS SYNCS.ARRIVE SYNCS.PHASECHK
// launch: grid=8 block=128 cluster=2
#include "async.cuh"
#define RED(OP, TYPE, PLACE, VALUE) \
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes." OP "." TYPE " [%0], %1, [%2];" ::"r"(map(&s[PLACE], other)), "r"(VALUE), "r"(b) : "memory")
KERNEL __cluster_dims__(2, 1, 1) kernel(PARAMS) {
    __shared__ u64 bar;
    __shared__ __align__(8) u32 s[512];
    u32 x = get(in, n, 0), y = get(in, n, 1), other = cluster_rank() ^ 1;
    Chains w(x);
    for (u32 k = tid(); k < 512; k += 128) s[k] = k * 0x01010101u;
    fence_async();
    const u32 bytes = 128 * 9 * 4 + 128 * 8;
    if (tid() == 0) {
        bar_init(&bar, 1);
        fence_init();
    }
    __syncthreads();
    for (u32 r = 0; r < 3; r++) {
        if (tid() == 0) bar_expect(&bar, bytes);
        __syncthreads();
        cluster_sync();
        u32 b = map(&bar, other), t = (x ^ r) & 31;  // several threads meet in one word
        RED("add", "u32", t, x);
        RED("min", "u32", 32 + t, y);
        RED("max", "u32", 64 + t, x);
        RED("min", "s32", 96 + t, x);
        RED("max", "s32", 128 + t, y);
        RED("and", "b32", 160 + t, y | 0x10101u);
        RED("or", "b32", 192 + t, x & y);
        RED("xor", "b32", 224 + t, y);
        RED("inc", "u32", 256 + t, ALL);
        u64 q = ((u64)x << 32) | y;
        asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u64 [%0], %1, [%2];" ::"r"(map(&s[384 + 2 * t], other)), "l"(q), "r"(b) : "memory");
        w.step(q >> 7);
        bar_wait(&bar, r & 1);
        for (u32 k = tid(); k < 512; k += 128) w.step(s[k]);
        x = mix(x, w.a);
        y = rot(y, 5) ^ w.b;
        cluster_sync();
    }
    out[gid()] = w.end();
}
