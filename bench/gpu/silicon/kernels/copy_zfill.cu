// Copies that fill up with zeros, sizes in registers and predicates, some of nothing: LDGSTS.E.BYPASS.128 LDGSTS.E.ZFILL LDGDEPBAR
#include "async.cuh"
DEV void part16(void *to, const void *from, u32 size) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(global_address(from)), "r"(size) : "memory");
}
DEV void part4(void *to, const void *from, u32 size) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address(to)), "l"(global_address(from)), "r"(size) : "memory");
}
DEV void ignore8(void *to, const void *from, u32 ignore) {
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; cp.async.ca.shared.global [%0], [%1], 8, p; }" ::"r"(shared_address(to)), "l"(global_address(from)), "r"(ignore) : "memory");
}
KERNEL kernel(PARAMS) {
    __shared__ __align__(16) u32 s[1024], t[256], v[512];
    u32 x = get(in, n, 0);
    Chains w(x);
    for (u32 r = 0; r < 3; r++) {
        part16(&s[tid() * 4], &in[(x * 4) & (n - 1)], (x >> 3) & 12);
        part4(&t[tid()], &in[x & (n - 1)], x & 4);
        if (x & 32) ignore8(&v[tid() * 2], &in[(x * 2) & (n - 1)], x & 64);
        else v[tid() * 2] = v[tid() * 2 + 1] = x;
        if (x & 16) copy_commit();
        w.step(x);
        copy_wait_all();
        __syncthreads();
        uint4 q = *(uint4 *)&s[(tid() ^ 3) * 4];
        w.step(q.x ^ q.y);
        w.step(q.z + q.w);
        w.step(t[tid() ^ 9] + v[tid() ^ 130]);
        x = mix(x, w.a);
        __syncthreads();
    }
    out[gid()] = w.end();
}
