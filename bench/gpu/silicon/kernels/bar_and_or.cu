// Block-wide and/or as predicates, back to back, some of them constant for a block: BAR.RED.AND BAR.RED.OR B2R.RESULT
#include "rare.cuh"
KERNEL kernel(PARAMS) {
    u32 x = get(in, n, 0), y = get(in, n, 1);
    Chains w(x ^ y);
#pragma unroll
    for (int k = 0; k < 8; k++) {
        bool all = __syncthreads_and((x >> k) & 0xffu);         // mostly true, now and then false
        bool any = __syncthreads_or(((y >> k) & 0x3ffu) == 7u);  // sometimes true
        bool both = __syncthreads_and(tid() < 256 || x);
        w.step(x + k);
        if (all) w.a += y;
        if (any) w.b ^= rot(x, k);
        w.c += both && any ? w.a : w.d;
        bool none = __syncthreads_or(tid() > 255 && y);
        w.d = none ? 0 : w.d + (all ? 3 : 5);
        x = mix(x, w.a);
        y = rot(y, 9) + any;
    }
    out[gid()] = w.end() + x;
}
