// The same through global memory, by loads and stores that are not volatile: NOP STG.E LDG.E
#include "rare.cuh"
KERNEL kernel(const u32 *in, u32 *out, u32 n) {
    u32 *own = out + 65536 + (gid() & ~31u) * 4 + lane();
    u32 x = in[gid() & (n - 1)];
    Chains w(x);
#pragma unroll
    for (u32 k = 0; k < 8; k++) {
        own[0] = x;
        own[32] = x + w.c;
        own[64] = w.d;
        __syncwarp();
        u32 y = own[5] + own[17] * 3;
        __syncwarp();
        own[1] = y ^ k;
        w.step(y);
        __syncwarp();
        x = own[9] + own[41] + in[(gid() + k * 977u) & (n - 1)];
        __syncwarp();
    }
    out[gid()] = w.end() + x;
}
