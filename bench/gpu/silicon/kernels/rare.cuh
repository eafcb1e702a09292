// What the kernels here share: inputs, arithmetic that gives a scheduler something to move, and thin PTX wrappers.
#pragma once
typedef unsigned u32;
typedef unsigned long long u64;
#define DEV static __device__ __forceinline__
#define ALL 0xffffffffu
#define PARAMS const u32 *__restrict__ in, u32 *__restrict__ out, u32 n
#define KERNEL extern "C" __global__ void

DEV u32 tid() { return threadIdx.x; }
DEV u32 gid() { return blockIdx.x * blockDim.x + threadIdx.x; }
DEV u32 lane() { return threadIdx.x & 31; }
DEV u32 warp() { return threadIdx.x >> 5; }
DEV u32 rot(u32 x, u32 k) { return __funnelshift_l(x, x, k); }
DEV u32 mix(u32 a, u32 b) {
    a = (a ^ b) * 0x9e3779b1u;
    return a ^ (a >> 15);
}
// The k-th input of this thread.
DEV u32 get(const u32 *in, u32 n, u32 k) { return in[(gid() + k * 10007u) & (n - 1)]; }
DEV u32 shared_address(const void *p) { return (u32)__cvta_generic_to_shared(p); }
DEV u64 global_address(const void *p) { return (u64)__cvta_generic_to_global(p); }

// Independent chains of integer and float arithmetic: a wrong value taken in anywhere shows at the end.
struct Chains {
    u32 a, b, c, d;
    float f;
    __device__ __forceinline__ explicit Chains(u32 x) : a(x), b(x ^ 0x55aa55aau), c(~x), d(x * 3 + 1), f((float)(x & 1023)) {}
    __device__ __forceinline__ void step(u32 x) {
        a = mix(a, x);
        b = b * 1664525u + (x ^ 0x3c6ef35fu);
        c = rot(c, 7) + (x >> 3);
        d = (d ^ x) + ((d >> 11) | 1u);
        f = fmaf(f, 0.875f, (float)(x & 0xffffu));
    }
    __device__ __forceinline__ u32 end() const { return mix(mix(a, b), mix(c, d)) + __float_as_uint(f); }
};
