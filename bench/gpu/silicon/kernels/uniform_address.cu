// Addresses that all threads share from signed places, and matrices behind them: ULEA.HI.X.SX32 LDSM UBLKCP
#include "matrix.cuh"
KERNEL kernel(PARAMS) {
    __shared__ __align__(128) u32 s[4][512];
    __shared__ u64 bar;
    u32 x = get(in, n, 0);
    Chains w(x);
    if (tid() == 0) bar_init(&bar, 1);
    fence_init();
    for (u32 k = tid(); k < 2048; k += 256) s[k >> 9][k & 511] = in[(blockIdx.x * 4099 + k) & (n - 1)];
    fence_async();
    __syncthreads();
    const u32 row = (lane() & 31) * 16;
    int place = (int)(blockIdx.x * 7) - 3;
    const u32 *middle = in + n / 2;
#pragma unroll 1
    for (u32 r = 0; r < n >> 17; r++) {
        const u32 stage = (r * 3 + blockIdx.x) & 3;
        if (warp() == 0) {
            u32 chosen;
            asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }" : "=r"(chosen));
            if (chosen) {
                bar_expect(&bar, 2048);
                bulk_load(s[stage], middle + place * 4, 2048, &bar);  // before the middle and behind it
            }
        }
        w.step(x + r);
        bar_wait(&bar, r & 1);
        u32 a, b, c, d;
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(shared_address(s[stage]) + row) : "memory");
        w.step(a ^ b);
        w.step(c + d);
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(shared_address(s[stage]) + 1024 + row) : "memory");
        w.step(a + c);
        place = (int)((u32)place * 77 + 5) % 4096;
        x = mix(x, w.a);
        __syncthreads();
    }
    out[gid()] = w.end();
}
