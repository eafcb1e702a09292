// Lanes of a warp that run together hand each other volatile words of shared memory, with nothing between, as reductions did before __syncwarp: STS LDS
#include "rare.cuh"
KERNEL kernel(PARAMS) {
    __shared__ volatile u32 words[8][64 + 32];
    volatile u32 *own = words[warp()] + lane();
    u32 x = get(in, n, 0);
    Chains w(x);
    own[64] = 0;
#pragma unroll
    for (u32 k = 0; k < 12; k++) {
        own[0] = x;
        own[32] = x ^ w.b;
#pragma unroll
        for (u32 step = 16; step > 0; step /= 2) {
            u32 y = own[step] + own[step + 16];
            own[0] = y * 5 + k;
            w.step(y);
        }
        x = own[3] ^ get(in, n, k + 1);
    }
    out[gid()] = w.end() + x;
}
