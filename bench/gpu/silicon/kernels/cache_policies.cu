// Loads and stores under createpolicy hints: the hint in a 64-bit register or uniform register (.L2 cache hint descriptors), wide vectors: LDG.E.128 with a policy, STG.E.64 with a policy, LDG.E.EL, LDG.E.LTC256B.
// input: random
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long first, last, part, range;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(first));
    asm volatile("createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %0, 0.25;" : "=l"(last));
    asm volatile("createpolicy.fractional.L2::evict_normal.b64 %0, 0.5;" : "=l"(part));
    asm volatile("createpolicy.range.global.L2::evict_last.L2::evict_unchanged.b64 %0, [%1], 0x10000, 0x40000;" : "=l"(range) : "l"(in));
    unsigned sum = 0;
    for (int i = 0; i < 4; i++) {
        const unsigned at = t * 4 + 16384 * i;
        unsigned a, b, c, d, e, f, g, h;
        asm volatile("ld.global.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "l"(in + at), "l"(first));
        asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.v2.u32 {%0, %1}, [%2], %3;" : "=r"(e), "=r"(f) : "l"(in + at + 65536), "l"(last));
        asm volatile("ld.global.L1::evict_last.L2::cache_hint.L2::256B.u32 %0, [%1], %2;" : "=r"(g) : "l"(in + at + 131072), "l"(part));
        asm volatile("ld.global.L2::cache_hint.u8 %0, [%1], %2;" : "=r"(h) : "l"((const char*)(in + at) + 3), "l"(range));
        sum = sum * 31 + (a ^ b) + c * 3 + (d ^ e) + f * 5 + g * h;
        asm volatile("st.global.L2::cache_hint.v2.u32 [%0], {%1, %2}, %3;" :: "l"(out + at), "r"(sum), "r"(a + e), "l"(last) : "memory");
        asm volatile("st.global.L1::evict_first.L2::cache_hint.u32 [%0], %1, %2;" :: "l"(out + at + 2), "r"(g ^ sum), "l"(first) : "memory");
        asm volatile("red.global.add.L2::cache_hint.u32 [%0], %1, %2;" :: "l"(out + at + 3), "r"(h + sum), "l"(part) : "memory");
    }
    out[t + 262144] = sum;
    out[t + 264192] = out[t * 4 + 3];
}
