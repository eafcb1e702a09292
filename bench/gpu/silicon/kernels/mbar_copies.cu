// Asynchronous copies that arrive at a barrier when they are done: LDGSTS ARRIVES.LDGSTSBAR SYNCS.PHASECHK
#include "async.cuh"
KERNEL kernel(PARAMS) {
    __shared__ u64 bar[2];
    __shared__ __align__(16) u32 s[2][1024];
    u32 x = get(in, n, 0);
    Chains w(x);
    if (tid() == 0) {
        bar_init(&bar[0], 256);  // .noinc: the arrival of the copies is one of the 256
        bar_init(&bar[1], 256);  // the other form: counts itself up first
    }
    __syncthreads();
    for (u32 r = 0; r < 4; r++) {
        copy16(&s[0][tid() * 4], &in[(blockIdx.x * 4096 + r * 1024 + tid() * 4) & (n - 1)]);
        asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(shared_address(&bar[0])) : "memory");
        w.step(x);
        copy4(&s[1][tid()], &in[(x + r) & (n - 1)]);
        copy4(&s[1][tid() + 256], &in[(x * 3 + r) & (n - 1)]);
        copy8(&s[1][512 + tid() * 2], &in[(x * 2) & (n - 1)]);
        asm volatile("cp.async.mbarrier.arrive.shared::cta.b64 [%0];" ::"r"(shared_address(&bar[1])) : "memory");
        u64 state = bar_arrive(&bar[1]);
        bar_wait(&bar[0], r & 1);
        w.step(s[0][(tid() * 5 + r) & 1023]);
        while (!bar_test(&bar[1], state)) {}
        w.step(s[1][tid() ^ 3] + s[1][256 + (tid() ^ 5)]);
        w.step(s[1][512 + (tid() ^ 65)]);
        x = mix(x, w.a);
        __syncthreads();
    }
    out[gid()] = w.end();
}
