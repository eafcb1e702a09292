// Reductions whose barrier and count are in registers: BAR.RED.POPC BAR.RED.OR B2R.RESULT
#include "rare.cuh"
DEV u32 count(u32 id, u32 threads, u32 v) {
    u32 c;
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %3, 0; bar.red.popc.u32 %0, %1, %2, p; }" : "=r"(c) : "r"(id), "r"(threads), "r"(v) : "memory");
    return c;
}
DEV u32 any(u32 id, u32 threads, u32 v) {
    u32 c;
    asm volatile("{ .reg .pred p, q; setp.ne.u32 p, %3, 0; bar.red.or.pred q, %1, %2, p; selp.u32 %0, 1, 0, q; }"
                 : "=r"(c) : "r"(id), "r"(threads), "r"(v) : "memory");
    return c;
}
KERNEL kernel(PARAMS) {
    u32 x = get(in, n, 0), y = get(in, n, 1);
    Chains w(x);
    u32 two = n >> 19;                       // 2, which the compiler does not know
    u32 group = warp() / two, threads = 32 * two;
    for (u32 r = 0; r < 6; r++) {
        u32 c = count(1 + group, threads, (x >> r) & 1);
        u32 d = count(5 + group + 4 * (r & 1), threads, (y >> r) & 3);
        u32 o = any(1 + group, threads, ((x ^ y) & 63) == r);
        w.step(c ^ (d << 7));
        if (o) w.c += x;
        x = mix(x, c);
        y = o ? rot(y, d & 31) : y + d;
    }
    out[gid()] = w.end() ^ x ^ y;
}
