// Generic loads and stores of every width and strength, where the pointer is to shared or global memory by data: LD.E.U8, LD.E.S8, LD.E.U16, LD.E.S16, LD.E.64, LD.E.128, LD.E.STRONG.GPU, LD.E.64.STRONG.SM, ST.E.U16, ST.E.128, ST.E.STRONG.GPU, ATOM.E.CAS, ATOM.E.EXCH, ATOM.E.MAX.
// input: random
#define L(op, c, ty, p) ({ ty r; asm volatile(op " %0, [%1];" : c(r) : "l"(p) : "memory"); r; })
#define S(op, c, p, v) asm volatile(op " [%0], %1;" :: "l"(p), c(v) : "memory")
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    __shared__ __align__(16) unsigned s[256 * 8];
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned* own = s + threadIdx.x * 8;
    unsigned* far = out + 65536 + t * 8;
    unsigned x = in[t], sum = 0;
    for (int k = 0; k < 8; k++) {
        own[k] = in[t + 2048 * k];
        far[k] = in[t + 2048 * (k + 8)];
    }
    for (int i = 0; i < 8; i++) {
        unsigned char* p = (unsigned char*)(x & 1 ? own : far);
        unsigned char* q = (unsigned char*)(x & 2 ? own : far);
        S("st.u16", "h", p + (x >> 3 & 30), (unsigned short)x);
        const unsigned u8 = L("ld.u8", "=r", unsigned, q + (x >> 8 & 31)), s8 = L("ld.s8", "=r", unsigned, q + (x >> 13 & 31));
        const unsigned short u16 = L("ld.u16", "=h", unsigned short, q + (x >> 18 & 30)), s16 = L("ld.s16", "=h", unsigned short, q + (x >> 22 & 30));
        const unsigned long long d = L("ld.u64", "=l", unsigned long long, q + (x >> 4 & 24)), e = L("ld.relaxed.gpu.u64", "=l", unsigned long long, p + (x >> 6 & 24)), f = L("ld.volatile.u64", "=l", unsigned long long, q + (x >> 9 & 24)), g = L("ld.relaxed.cta.u64", "=l", unsigned long long, p);
        S("st.relaxed.gpu.u64", "l", p + (u8 & 24), d + e);
        const unsigned h = L("ld.acquire.gpu.u32", "=r", unsigned, p + (s8 & 28)), j = L("ld.relaxed.sys.u32", "=r", unsigned, q + (s16 & 28));
        S("st.release.gpu.u32", "r", q + (h & 28), j + 1);
        const unsigned short k = L("ld.relaxed.gpu.u16", "=h", unsigned short, p + (j & 30));
        S("st.relaxed.gpu.u16", "h", q + (u16 & 30), (unsigned short)(k + u8));
        S("st.u8", "r", p + (h >> 4 & 31), (unsigned)g);
        unsigned a, b, c, w;
        asm volatile("ld.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(w) : "l"(q + (h & 16)) : "memory");
        asm volatile("st.v4.u32 [%0], {%1, %2, %3, %4};" :: "l"(p + (j & 16)), "r"(b), "r"(c ^ k), "r"(w + h), "r"(a) : "memory");
        asm volatile("ld.relaxed.gpu.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(w) : "l"(p + (a & 16)) : "memory");
        asm volatile("st.relaxed.gpu.v4.u32 [%0], {%1, %2, %3, %4};" :: "l"(q), "r"(w), "r"(a), "r"(b), "r"(c + s8) : "memory");
        unsigned* cell = (unsigned*)(p + (b & 28));
        const unsigned m = atomicExch(cell, w), o = atomicMax(cell, c), r = atomicCAS(cell, w > c ? w : c, h), v = atomicXor((unsigned*)(q + (c & 28)), a), y = atomicMin((int*)cell, (int)w);
        const unsigned long long z = atomicAdd((unsigned long long*)(q + (c >> 5 & 24)), d), aa = atomicExch((unsigned long long*)p, f);
        const float bb = atomicAdd((float*)(p + (h >> 8 & 28)), 1.5f);
        sum = sum * 31 + u8 + (s8 ^ u16) + (unsigned)(short)s16 + (unsigned)(f ^ z) + (unsigned)(aa >> 32) + m + o * 3 + r + (v ^ y) + __float_as_uint(bb);
        x = x * 0x9e3779b1u + sum + w;
    }
    for (int k = 0; k < 8; k++) sum = sum * 31 + own[k] + far[k] * 3;
    out[t] = sum;
    out[t + 2048] = x;
}
