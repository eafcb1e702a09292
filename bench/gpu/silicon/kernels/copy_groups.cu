// Groups of copies in loops and branches, waits for changing numbers of them: LDGSTS LDGDEPBAR DEPBAR.LE
#include "async.cuh"
KERNEL kernel(PARAMS) {
    __shared__ __align__(16) u32 s[8][256];
    u32 x = get(in, n, 0);
    Chains w(x);
    u32 r = 0;
    do {
        u32 v = x;
#pragma unroll
        for (int k = 0; k < 8; k++) {
            v = v * 69069u + k;
            if (v & 0x100000) copy4(&s[k][tid()], &in[(v >> 4) & (n - 1)]);
            else s[k][tid()] = v;
            if (k & 1) copy_commit();
        }
        w.step(v);
        copy_wait<3>();
        w.step(s[0][tid()] ^ s[1][tid()]);
        copy_wait<2>();
        copy_wait<1>();  // two at once
        w.step(s[2][tid()] ^ s[3][tid()]);
        w.step(s[4][tid()] ^ s[5][tid()]);
        copy4(&s[0][tid()], &in[(w.a >> 3) & (n - 1)]);
        copy_commit();
        copy_wait<1>();
        w.step(s[6][tid()] ^ s[7][tid()]);
        copy_wait<0>();
        w.step(s[0][tid()]);
        x = mix(x, w.a);
    } while (++r < n >> 18);
    out[gid()] = w.end();
}
