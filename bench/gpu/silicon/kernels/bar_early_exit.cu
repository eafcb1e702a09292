// Lanes and whole warps that exit before later barriers and reductions: BAR.SYNC BAR.RED.POPC EXIT
#include "rare.cuh"
KERNEL kernel(PARAMS) {
    __shared__ u32 s[256];
    u32 x = get(in, n, 0), y = get(in, n, 1);
    Chains w(x);
    s[tid()] = x;
    __syncthreads();
    u32 a = s[tid() ^ 33];
    w.step(a);
    if (warp() == 3 || warp() == 6) {
        out[gid()] = w.end();
        return;
    }
    __syncthreads();
    s[tid()] = w.a;
    u32 c = __syncthreads_count(a & 1);
    u32 b = s[tid() ^ 1];
    w.step(b + c);
    if (lane() == (x & 31)) {  // some lanes
        out[gid()] = w.end() ^ 1;
        return;
    }
    w.step(y);
    u32 d = __syncthreads_count(y & 1);
    bool e = __syncthreads_or((y & 63) == 9);
    if (e) w.d ^= d;
    w.step(d);
    if (lane() >= 16 && warp() < 2) {
        out[gid()] = w.end() ^ 2;
        return;
    }
    u32 f = __syncthreads_count(w.a & 1);
    w.step(f);
    out[gid()] = w.end() + f;
}
