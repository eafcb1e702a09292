// Count, and, or in turn with predicated values and stores to shared memory between: BAR.RED.POPC BAR.RED.AND BAR.RED.OR BAR.SYNC B2R.RESULT
#include "rare.cuh"
KERNEL kernel(PARAMS) {
    __shared__ u32 s[2][256];
    u32 x = get(in, n, 0), y = get(in, n, 1), z = get(in, n, 2);
    Chains w(z);
    for (u32 r = 0; r < n >> 18; r++) {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            s[k & 1][tid()] = x + r;
            u32 c = __syncthreads_count(tid() < 200 && (x & 3) == (u32)k);
            u32 left = s[k & 1][(tid() + 1) & 255];
            bool a = __syncthreads_and(((y >> k) & 63) != 63);
            s[k & 1][tid()] = left ^ y;
            bool o = __syncthreads_or(((left >> k) & 511) == c);
            u32 right = s[k & 1][(tid() + 255) & 255];
            u32 d = __syncthreads_count(a != (bool)(right & 1));
            w.step(left + right);
            w.step(c ^ (d << 8));
            if (a) w.b ^= right;
            w.a += o ? left : ~left;
            x = mix(x, right + d);
            y = rot(y, 3) ^ (o ? x : z);
            __syncthreads();
        }
    }
    out[gid()] = w.end() ^ x ^ y;
}
