// Short branches around barriers, so that the barrier itself is guarded, and reductions whose result nobody uses: BAR.SYNC BAR.ARV BAR.RED.POPC B2R.RESULT
#include "rare.cuh"
KERNEL kernel(PARAMS) {
    __shared__ u32 s[256];
    u32 x = get(in, n, 0), y = get(in, n, 1);
    Chains w(x);
    bool low = warp() < 4;
    for (u32 r = 0; r < n >> 18; r++) {
        s[tid()] = w.a ^ r;
        if (low) asm volatile("bar.sync 1, 128;" ::: "memory");
        if (!low) asm volatile("bar.sync 2, 128;" ::: "memory");
        w.step(s[tid() ^ 96]);
        __syncthreads_count(x & 1);  // only a barrier
        u32 c = __syncthreads_count(y & 1);
        s[tid()] = w.b + c;
        __syncthreads_or(y & 2);
        if (low) asm volatile("bar.arrive 3, 256;" ::: "memory");
        else asm volatile("bar.sync 3, 256;" ::: "memory");
        u32 v = s[tid() ^ (low ? 64 : 192)];
        u32 d = __syncthreads_count(v & 1);
        w.step(v);
        if (low) w.step(d);
        x = mix(x, c);
        y = rot(y, 3) + d;
    }
    out[gid()] = w.end();
}
