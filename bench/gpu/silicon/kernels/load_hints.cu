// Global loads and stores whose width, cache hint and strength meet: LDG.E.LTC128B.U16, .64, .128, LDG.E.S16, LDG.E.U16.CONSTANT, LDG.E.S8.CONSTANT, LDG.E.EF.128, LDG.E.64.STRONG.SYS, STG.E.EF.128, STG.E.U16.STRONG.GPU, CCTL.E.DML2.
// input: random
#define L(op, c, ty, p) ({ ty r; asm volatile(op " %0, [%1];" : c(r) : "l"(p) : "memory"); r; })
#define S(op, c, p, v) asm volatile(op " [%0], %1;" :: "l"(p), c(v) : "memory")
#define Q(op, p) ({ uint4 r; asm volatile(op " {%0, %1, %2, %3}, [%4];" : "=r"(r.x), "=r"(r.y), "=r"(r.z), "=r"(r.w) : "l"(p) : "memory"); r; })
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned sum = 0;
    for (int i = 0; i < 4; i++) {
        const unsigned* p = in + t * 8 + 16384 * i;
        unsigned* o = out + t * 16 + 32768 * i;
        const unsigned short a = L("ld.global.L2::128B.u16", "=h", unsigned short, p), b = L("ld.global.s16", "=h", unsigned short, (const char*)p + 2), c = L("ld.global.nc.u16", "=h", unsigned short, (const char*)p + 6), d = L("ld.global.nc.s16", "=h", unsigned short, p + 2);
        const int e = L("ld.global.nc.s8", "=r", int, (const char*)p + 9), f = L("ld.global.nc.L2::128B.u8", "=r", int, (const char*)p + 3), g = L("ld.global.cs.s8", "=r", int, (const char*)p + 13), h16 = L("ld.global.s16", "=r", int, (const char*)p + 10);
        const unsigned long long h = L("ld.global.L2::128B.u64", "=l", unsigned long long, p + 2), j = L("ld.relaxed.sys.global.u64", "=l", unsigned long long, p + 4), k = L("ld.global.nc.L1::evict_last.u64", "=l", unsigned long long, p + 6), l = L("ld.global.cg.u64", "=l", unsigned long long, p + 4);
        const uint4 m = Q("ld.global.L2::128B.v4.u32", p), q = Q("ld.global.cs.v4.u32", p + 4), r = Q("ld.global.nc.L1::no_allocate.L2::256B.v4.u32", p), v = Q("ld.volatile.global.v4.u32", p + 4);
        sum = sum * 31 + (unsigned)(a ^ b) + c * 3u + d + (unsigned)(e * f) + (unsigned)(g - h16) + (unsigned)(h >> 17) + (unsigned)(j ^ k) + (unsigned)(l >> 32) + (m.x ^ q.y) + (r.z + v.w) + (m.w & q.x) + (r.y | v.z);
        asm volatile("applypriority.global.L2::evict_normal [%0], 128;" :: "l"(out + (t & ~1u) * 16 + 32768 * i) : "memory");
        asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};" :: "l"(o), "r"(sum), "r"(m.y), "r"(q.z), "r"(r.w) : "memory");
        S("st.relaxed.gpu.global.u64", "l", o + 4, h + sum);
        S("st.relaxed.sys.global.u64", "l", o + 6, j ^ sum);
        S("st.global.L1::no_allocate.u16", "h", o + 8, (unsigned short)sum);
        S("st.volatile.global.u8", "r", (char*)o + 34, sum >> 8);
        S("st.relaxed.gpu.global.u16", "h", (char*)o + 36, b);
        asm volatile("st.global.L1::evict_last.v2.u32 [%0], {%1, %2};" :: "l"(o + 10), "r"(v.x), "r"(sum ^ v.y) : "memory");
        asm volatile("st.global.wt.v4.u32 [%0], {%1, %2, %3, %4};" :: "l"(o + 12), "r"(sum), "r"(v.z), "r"(q.w), "r"(m.z) : "memory");
        sum += L("ld.relaxed.gpu.global.u16", "=h", unsigned short, o + 8) + L("ld.volatile.global.u8", "=r", unsigned, (char*)o + 34) + (unsigned)L("ld.acquire.gpu.global.u64", "=l", unsigned long long, o + 4);
    }
    out[t + 262144] = sum;
}
