// Bulk copies to global memory, groups of them, waits for the reads and for all: UBLKCP UTMACMDFLUSH DEPBAR.LE FENCE.VIEW.ASYNC
#include "async.cuh"
KERNEL kernel(PARAMS) {
    __shared__ __align__(128) u32 s[2][1024];
    u32 x = get(in, n, 0);
    Chains w(x);
    for (u32 r = 0; r < 6; r++) {
        u32 k = r & 1;
        if (tid() == 0) bulk_wait_read<1>();  // the buffer of two rounds ago has been read
        __syncthreads();
#pragma unroll
        for (int j = 0; j < 4; j++) {
            w.step(x + j);
            s[k][tid() + 256 * j] = w.a ^ w.c;
        }
        fence_async();
        __syncthreads();
        if (tid() == 0) {
            u32 *to = out + (blockIdx.x * 6 + r) * 1024;
            bulk_store(to, s[k], 2048);
            bulk_store(to + 512, &s[k][512], 2048);
            bulk_commit();
        }
        x = mix(x, s[k][(tid() * 3) & 1023]);
    }
    if (tid() == 0) bulk_wait<0>();
    out[131072 + gid()] = w.end();
}
