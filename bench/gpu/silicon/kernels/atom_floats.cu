// Float atomics with and without results, vectors and halves too, sums that are exact: ATOMG.E.ADD.F32 ATOMG.E.ADD.F64 ATOMG.E.ADD.F16x2 ATOMG.E.ADD.BF16x2 ATOMG.E.ADD.F32x2 REDG.E.ADD.F32 REDG.E.ADD.F64 REDG.E.ADD.F16x2 REDG.E.ADD.F32x4 ATOMS.CAST.SPIN
// input: small
#include "rare.cuh"
KERNEL kernel(PARAMS) {
    __shared__ float s[64];
    u32 x = get(in, n, 0), y = get(in, n, 1);
    Chains w(x);
    if (tid() < 64) s[tid()] = 0;
    __syncthreads();
    float *p = (float *)out + 65536 + gid();
    double *d = (double *)(out + 131072) + gid();
    float *common = (float *)out + 262144;
    for (u32 r = 0; r < 4; r++) {
        float a = atomicAdd(p, (float)x * 0.37f);
        double b = atomicAdd(d, (double)y * 0.73);
        w.step(__float_as_uint(a));
        w.step((u32)__double_as_longlong(b) ^ (u32)(__double_as_longlong(b) >> 32));
        atomicAdd(common + (x & 31), (float)y);
        atomicAdd((double *)(common + 1024) + (x & 31), (double)y);
        atomicAdd(&s[y & 63], (float)x);  // a loop of compare and swap
        u32 old, one = 0x3c003c00u + ((x & 1) << 10);
        asm volatile("red.relaxed.gpu.global.add.noftz.f16x2 [%0], %1;" ::"l"(common + 2048 + gid() / 8), "r"(one) : "memory");
        asm volatile("atom.relaxed.gpu.global.add.noftz.f16x2 %0, [%1], %2;" : "=r"(old) : "l"(common + 4096 + gid()), "r"(one) : "memory");
        w.step(old);
        asm volatile("atom.relaxed.gpu.global.add.noftz.bf16x2 %0, [%1], %2;" : "=r"(old) : "l"(common + 8192 + gid()), "r"(0x3f803f80u) : "memory");
        w.step(old);
        asm volatile("red.relaxed.gpu.global.v4.f32.add [%0], {%1, %2, %3, %4};" ::"l"(common + 16384 + (x & 15) * 4), "f"((float)x), "f"((float)y), "f"(1.0f), "f"((float)r) : "memory");
        float e, f;
        asm volatile("atom.relaxed.gpu.global.v2.f32.add {%0, %1}, [%2], {%3, %4};" : "=f"(e), "=f"(f) : "l"(common + 32768 + gid() * 2), "f"((float)x), "f"((float)y * 0.1f) : "memory");
        w.step(__float_as_uint(e) + __float_as_uint(f));
        x = mix(x, w.a) & 255;
        y = mix(y, w.b) & 255;
    }
    __syncthreads();
    out[gid()] = w.end() ^ __float_as_uint(s[tid() & 63]);
}
