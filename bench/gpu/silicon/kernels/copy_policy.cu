// Copies and loads with cache policies and sizes to fetch ahead: LDGSTS.E.BYPASS.LTC128B.128 LDG.E.CONSTANT DEPBAR.LE
#include "async.cuh"
KERNEL kernel(PARAMS) {
    __shared__ __align__(16) u32 s[1024];
    u32 x = get(in, n, 0);
    Chains w(x);
    u64 first, last;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(first));
    asm volatile("createpolicy.fractional.L2::evict_last.L2::evict_first.b64 %0, 0.5;" : "=l"(last));
    for (u32 r = 0; r < 3; r++) {
        asm volatile("cp.async.cg.shared.global.L2::cache_hint.L2::128B [%0], [%1], 16, %2;" ::"r"(shared_address(&s[tid() * 4])), "l"(global_address(&in[(x * 4) & (n - 1)])), "l"(first) : "memory");
        u32 a, b, c, d, e;
        const u32 *p = &in[(x * 4 + 64) & (n - 1)];
        asm volatile("ld.global.L2::cache_hint.u32 %0, [%1], %2;" : "=r"(a) : "l"(p), "l"(last) : "memory");
        asm volatile("ld.global.nc.L1::no_allocate.L2::256B.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(b), "=r"(c), "=r"(d), "=r"(e) : "l"(p));
        w.step(a ^ b);
        w.step(c + d);
        w.step(e);
        asm volatile("st.global.L2::cache_hint.u32 [%0], %1, %2;" ::"l"(out + 65536 + r * 8192 + gid()), "r"(w.b), "l"(last) : "memory");
        copy_wait_all();
        uint4 q = *(uint4 *)&s[tid() * 4];
        w.step(q.x ^ q.w);
        w.step(q.y + q.z);
        x = mix(x, w.a);
        __syncthreads();
    }
    out[gid()] = w.end();
}
