// Every packed half comparison that leaves ones or masks: HSET2.BF.*, HSET2.* (mask) with and, or, xor of a predicate; used by HFMA2 and LOP3 at once.
// input: random
#define A(rel, x, y) { unsigned f, u; asm("set." rel ".f16x2.f16x2 %0, %1, %2;" : "=r"(f) : "r"(x), "r"(y)); asm("set." rel ".u32.f16x2 %0, %1, %2;" : "=r"(u) : "r"(y), "r"(x)); asm("fma.rn.f16x2 %0, %0, %1, %2;" : "+r"(sum) : "r"(half), "r"(f)); hash = (hash << 3 | hash >> 29) + (u & 0x10011u); }
#define P(rel, x, y) { unsigned f; asm("{.reg .pred p; setp.lt.u32 p, %3, 0x80000000; set." rel ".f16x2.f16x2 %0, %1, %2, p;}" : "=r"(f) : "r"(x), "r"(y), "r"(hash)); asm("fma.rn.f16x2 %0, %0, %1, %2;" : "+r"(sum) : "r"(half), "r"(f)); hash = hash * 0x01000193u + sum; }
#define V(w) ((hash >> (w) & 0x70007u) << 13 | 0x1e001e00u)
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x, half = 0x38003800u;
    unsigned hash = in[t], sum = 0;
    for (int i = 0; i < 4; i++) {
        const unsigned x = V(3), y = V(6), z = V(9);
        A("eq", x, y) A("ne", y, z) A("lt", z, x) A("le", x, y) A("gt", y, z) A("ge", z, x)
        A("equ", x, y) A("neu", y, z) A("ltu", z, x) A("leu", x, y) A("gtu", y, z) A("geu", z, x)
        A("num", x, y) A("nan", y, z) P("eq.and", z, x) P("ne.and", x, y) P("lt.and", y, z) P("le.and", z, x)
        P("gt.and", x, y) P("ge.and", y, z) P("equ.and", z, x) P("neu.and", x, y) P("ltu.and", y, z) P("leu.and", z, x)
        P("gtu.and", x, y) P("geu.and", y, z) P("num.and", z, x) P("nan.and", x, y) P("eq.or", y, z) P("ne.or", z, x)
        P("lt.or", x, y) P("le.or", y, z) P("gt.or", z, x) P("ge.or", x, y) P("equ.or", y, z) P("neu.or", z, x)
        P("ltu.or", x, y) P("leu.or", y, z) P("gtu.or", z, x) P("geu.or", x, y) P("num.or", y, z) P("nan.or", z, x)
        P("eq.xor", x, y) P("ne.xor", y, z) P("lt.xor", z, x) P("le.xor", x, y) P("gt.xor", y, z) P("ge.xor", z, x)
        P("equ.xor", x, y) P("neu.xor", y, z) P("ltu.xor", z, x) P("leu.xor", x, y) P("gtu.xor", y, z) P("geu.xor", z, x)
        P("num.xor", x, y) P("nan.xor", y, z)
        hash ^= in[t + 2048 * (i + 1)];
    }
    out[t] = hash;
    out[t + 2048] = sum;
}
