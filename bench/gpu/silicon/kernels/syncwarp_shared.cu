// Lanes of a warp that run together hand each other words of shared memory, at addresses that no thread sees twice; only __syncwarp orders them, and leaves a NOP: NOP STS LDS
#include "rare.cuh"
KERNEL kernel(PARAMS) {
    __shared__ u32 words[8][64 + 32];
    u32 *own = words[warp()] + lane();
    u32 x = get(in, n, 0);
    Chains w(x);
    own[64] = 0;
#pragma unroll
    for (u32 k = 0; k < 12; k++) {
        own[0] = x;
        own[32] = x ^ w.b;
        __syncwarp();
#pragma unroll
        for (u32 step = 16; step > 0; step /= 2) {
            u32 y = own[step] + own[step + 16];
            __syncwarp();
            own[0] = y * 5 + k;
            w.step(y);
            __syncwarp();
        }
        x = own[3] ^ get(in, n, k + 1);
        __syncwarp();
    }
    out[gid()] = w.end() + x;
}
