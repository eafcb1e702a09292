// Copies of 16 bytes in a ring of four stages, two groups always under way: LDGSTS.E.BYPASS.128 LDGDEPBAR DEPBAR.LE BAR.SYNC
#include "async.cuh"
KERNEL kernel(PARAMS) {
    __shared__ __align__(16) u32 s[4][1024];
    u32 x = get(in, n, 0);
    Chains w(x);
    const u32 *from = in + blockIdx.x * 32768 + tid() * 4;
    u32 rounds = n >> 15;  // 32
#pragma unroll
    for (int k = 0; k < 3; k++) {
        copy16(&s[k][tid() * 4], from + k * 1024);
        copy_commit();
    }
    for (u32 r = 0; r < rounds; r++) {
        copy_wait<2>();
        __syncthreads();
        if (r + 3 < rounds) copy16(&s[(r + 3) & 3][tid() * 4], from + (r + 3) * 1024);
        copy_commit();  // empty ones at the end
        u32 a = s[r & 3][(tid() * 5 + 1) & 1023], b = s[r & 3][1023 - tid()], c = s[r & 3][tid()];
        w.step(a ^ b);
        w.step(c);
        w.d += a * b;
    }
    out[gid()] = w.end();
}
