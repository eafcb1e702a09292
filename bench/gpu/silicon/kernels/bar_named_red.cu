// Reductions on named barriers, two halves of the block at once, with counts: BAR.RED.POPC BAR.RED.AND BAR.RED.OR B2R.RESULT
#include "rare.cuh"
#define RED_COUNT(ID) \
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; bar.red.popc.u32 %0, " ID ", 128, p; }" : "=r"(c) : "r"(v) : "memory")
#define RED_LOGIC(OP, ID) \
    asm volatile("{ .reg .pred p, q; setp.ne.u32 p, %1, 0; bar.red." OP ".pred q, " ID ", 128, p; selp.u32 %0, 1, 0, q; }" : "=r"(c) : "r"(v) : "memory")
DEV u32 count1(u32 v) { u32 c; RED_COUNT("1"); return c; }
DEV u32 count2(u32 v) { u32 c; RED_COUNT("2"); return c; }
DEV u32 and1(u32 v) { u32 c; RED_LOGIC("and", "1"); return c; }
DEV u32 and2(u32 v) { u32 c; RED_LOGIC("and", "2"); return c; }
DEV u32 or1(u32 v) { u32 c; RED_LOGIC("or", "1"); return c; }
DEV u32 or2(u32 v) { u32 c; RED_LOGIC("or", "2"); return c; }
KERNEL kernel(PARAMS) {
    u32 x = get(in, n, 0), y = get(in, n, 1);
    Chains w(x + y);
    if (warp() < 4) {
#pragma unroll
        for (int k = 0; k < 6; k++) {
            u32 c = count1((x >> k) & 1), d = count1((y >> k) & 1);
            u32 a = and1((x >> (2 * k)) & 127), o = or1(((y >> k) & 255) == c);
            w.step(c + 256 * d);
            w.step(a ? y : o);
            x ^= rot(w.a, c & 31);
        }
    } else {
#pragma unroll
        for (int k = 0; k < 6; k++) {
            u32 a = and2((y >> (2 * k)) & 255), o = or2(((x >> k) & 127) == 5);
            u32 c = count2(((x ^ y) >> k) & 1);
            if (a) w.b += c;
            w.step(o ? x + c : y - c);
            y ^= count2(w.a & 1) << k;
        }
    }
    u32 last = __syncthreads_count(w.a & 1);
    out[gid()] = w.end() ^ x ^ y ^ last;
}
