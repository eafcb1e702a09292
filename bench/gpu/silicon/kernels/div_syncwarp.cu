// __syncwarp with masks inside branches, exchange through shared memory: WARPSYNC BSSY BSYNC
#include "rare.cuh"
KERNEL kernel(PARAMS) {
    __shared__ u32 s[256];
    u32 x = get(in, n, 0), l = lane(), base = tid() & ~31u;
    Chains w(x);
    for (u32 r = 0; r < 4; r++) {
        s[tid()] = w.a ^ r;
        __syncwarp();
        if (l < 16) {
            u32 v = s[base + ((l + 3) & 15)];
            w.step(v);
            __syncwarp(0x0000ffffu);
            s[tid()] = w.b;
            __syncwarp(0x0000ffffu);
            w.step(s[base + (l ^ 5)]);
            __syncwarp(0x0000ffffu);
        } else if (l < 24) {
            u32 v = s[base + 16 + ((l + 1) & 7)];
            w.step(v + 1);
            __syncwarp(0x00ff0000u);
            s[tid()] = w.c;
            __syncwarp(0x00ff0000u);
            w.step(s[base + (l ^ 3)]);
            __syncwarp(0x00ff0000u);
        } else {
            w.step(x);
            u32 v = s[base + (l ^ 1)];
            __syncwarp(0xff000000u);
            s[tid()] = v + w.d;
            __syncwarp(0xff000000u);
            w.step(s[base + (l ^ 6)] * 3);
            __syncwarp(0xff000000u);
        }
        __syncwarp();
        w.step(s[base + ((l * 7 + r) & 31)]);
        __syncwarp();
    }
    out[gid()] = w.end();
}
