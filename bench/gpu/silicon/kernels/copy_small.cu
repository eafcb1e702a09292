// Asynchronous copies of 4 and 8 bytes, groups waited for one by one: LDGSTS.E LDGSTS.E.64 LDGDEPBAR DEPBAR.LE
#include "async.cuh"
KERNEL kernel(PARAMS) {
    __shared__ __align__(16) u32 s[4][256], t[4][512];
    u32 x = get(in, n, 0);
    Chains w(x);
    for (u32 r = 0; r < 3; r++) {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            copy4(&s[k][tid()], &in[(x + k * 77) & (n - 1)]);
            copy8(&t[k][tid() * 2], &in[(x * 2 + k * 66) & (n - 1)]);
            copy_commit();
        }
        w.step(x);
        copy_wait<3>();
        w.step(s[0][tid()] ^ t[0][tid() * 2]);
        copy_wait<2>();
        w.step(s[1][tid()] + t[1][tid() * 2 + 1]);
        copy_wait<1>();
        w.step(s[2][tid()] ^ t[2][tid() * 2]);
        copy_wait<0>();
        w.step(s[3][tid()] - t[3][tid() * 2 + 1]);
        __syncthreads();
        w.step(s[r][tid() ^ 1] + t[3 - r][tid() ^ 7]);
        x = mix(x, w.a);
        __syncthreads();
    }
    out[gid()] = w.end();
}
