// Generic atomics, loads and stores of system and block scope, and 64-bit strong global ones: ATOM.E.CAS.STRONG.SYS, ATOM.E.ADD.STRONG.SYS, LD.E.64.STRONG.SM, ST.E.STRONG.SYS, STG.E.64.STRONG.SYS, LDG.E.64.STRONG.SM, LDG.E.LTC128B, ATOMG.STRONG.SYS, REDG.STRONG.SM.
// input: random
#define L(op, c, ty, p) ({ ty r; asm volatile(op " %0, [%1];" : c(r) : "l"(p) : "memory"); r; })
#define S(op, c, p, v) asm volatile(op " [%0], %1;" :: "l"(p), c(v) : "memory")
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    __shared__ __align__(16) unsigned s[256 * 4];
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned* far = out + 65536 + t * 16;
    unsigned x = in[t];
    unsigned long long wide = 0;
    for (int k = 0; k < 4; k++) {
        s[threadIdx.x * 4 + k] = x + k;
        far[k] = x ^ k;
    }
    for (int i = 0; i < 4; i++) {
        unsigned* p = x & 64 ? s + threadIdx.x * 4 : far;
        const unsigned long long a = L("ld.relaxed.cta.u64", "=l", unsigned long long, p), b = L("ld.relaxed.sys.u64", "=l", unsigned long long, p + 2);
        S("st.relaxed.sys.u32", "r", p + 1, x);
        S("st.relaxed.cta.u64", "l", p + 2, a + b);
        const unsigned c = atomicCAS_system(p, (unsigned)a, x), d = atomicAdd_system(p + 1, x | 1), e = atomicExch_block(p + 3, d ^ c), f = atomicMax_block(p, e);
        S("st.relaxed.sys.global.u64", "l", far + 4, a ^ wide);
        S("st.relaxed.cta.global.u64", "l", far + 6, b + wide);
        const unsigned long long g = L("ld.relaxed.cta.global.u64", "=l", unsigned long long, far + 4), h = L("ld.relaxed.sys.global.u64", "=l", unsigned long long, far + 6);
        const unsigned j = L("ld.global.L2::128B.u32", "=r", unsigned, in + (x & 0xffff)), k = L("ld.global.L2::64B.u32", "=r", unsigned, in + (x >> 16));
        unsigned l, m;
        asm volatile("atom.relaxed.sys.global.add.u32 %0, [%1], %2;" : "=r"(l) : "l"(far + 8), "r"(j) : "memory");
        asm volatile("atom.relaxed.cta.global.cas.b32 %0, [%1], %2, %3;" : "=r"(m) : "l"(far + 8), "r"(l + j), "r"(k) : "memory");
        asm volatile("red.relaxed.cta.global.or.b32 [%0], %1;" :: "l"(far + 9), "r"(m) : "memory");
        asm volatile("red.relaxed.sys.global.add.u64 [%0], %1;" :: "l"(far + 10), "l"(g) : "memory");
        wide = wide * 31 + (a ^ g) + (b ^ h) * 3 + ((unsigned long long)(c ^ e) << 32 | (d + f)) + l + m;
        x = x * 0x9e3779b1u + (unsigned)(wide >> 17) + j + k;
    }
    for (int k = 0; k < 4; k++) wide = wide * 31 + s[threadIdx.x * 4 + k];
    out[t] = (unsigned)wide;
    out[t + 2048] = (unsigned)(wide >> 32);
    out[t + 4096] = x;
}
