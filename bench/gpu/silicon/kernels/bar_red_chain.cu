// The result of one reduction is the next one's predicate, with no work between: BAR.RED.POPC BAR.RED.AND BAR.RED.OR B2R.RESULT
#include "rare.cuh"
KERNEL kernel(PARAMS) {
    u32 x = get(in, n, 0);
    u32 c = tid(), sum = 0;
#pragma unroll
    for (int k = 0; k < 10; k++) {
        c = __syncthreads_count((c ^ tid() ^ (x >> k)) & 1);
        c = c * 2 + (u32)(__syncthreads_and((c + tid()) & 255 | (x & 1)) != 0);
        c = c * 2 + (u32)(__syncthreads_or(((c + x) & 127) == 3) != 0);
        sum = mix(sum, c);
    }
    out[gid()] = sum + x;
}
