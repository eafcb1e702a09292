// Shuffles among some lanes and with narrow widths, in branches: SHFL.IDX SHFL.DOWN WARPSYNC
#include "rare.cuh"
KERNEL kernel(PARAMS) {
    u32 x = get(in, n, 0), y = get(in, n, 1);
    Chains w(x);
    for (u32 r = 1; r <= n >> 18; r++) {
        if (lane() < 16) {
            u32 a = __shfl_down_sync(0x0000ffffu, x, r, 8);
            u32 b = __shfl_xor_sync(0x0000ffffu, y, r, 16);
            w.step(a + b);
            w.step(__shfl_sync(0x0000ffffu, w.a, y & 15, 16));
        } else {
            u32 a = __shfl_up_sync(0xffff0000u, y, r, 16);
            u32 b = __shfl_sync(0xffff0000u, x, a & 3, 4);
            w.step(a ^ b);
            w.b += __shfl_xor_sync(0xffff0000u, w.c, 1, 2);
        }
        __syncwarp();
        u32 m = 0x11111111u << (lane() & 3);
        u32 v = __shfl_sync(m, w.d, (lane() & 3) + ((x >> 5) & 28));
        w.step(v);
        x = mix(x, v);
        y = mix(y, w.a);
    }
    out[gid()] = w.end();
}
