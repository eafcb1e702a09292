// Float comparisons in all fourteen relations, ordered and not, on any bit pattern: FSETP.LT/.LTU/.EQ/.EQU/.NE/.NEU/.NUM/.NAN with .AND/.OR/.XOR, FTZ ones, FSET.BF, FSEL, guards.
// input: random
#define S(rel, op, x, y) "setp." rel "." op ".f32 p|q, " x ", " y ", r;\n\t@p add.u32 %4, %4, 0x1234567;\n\t@q xor.b32 %4, %4, 0x5a5a;\n\tselp.f32 f, %0, %3, q;\n\tadd.f32 %2, %2, f;\n\txor.pred r, p, q;\n\tshf.l.wrap.b32 %4, %4, %4, 3;\n\t"
#define F(rel, op, x, y) "setp." rel "." op ".ftz.f32 p|q, " x ", " y ", !r;\n\t@p add.u32 %4, %4, 0x7654321;\n\tselp.f32 f, %1, %2, p;\n\tmul.f32 %3, %3, f;\n\tor.pred r, p, q;\n\tshf.l.wrap.b32 %4, %4, %4, 5;\n\t"
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned bits = 0;
    float a = __uint_as_float(in[t]), b = __uint_as_float(in[t + 2048]), c = __uint_as_float(in[t + 4096] | (t & 1 ? 0x7f800000u : 0)), d = __uint_as_float(in[t + 6144] >> 9);
    for (int i = 0; i < 3; i++) {
        asm volatile("{\n\t.reg .pred p, q, r;\n\t.reg .f32 f;\n\tsetp.neu.f32 r, %2, %3;\n\t"
            S("eq", "and", "%0", "%1") S("ne", "or", "%1", "%2") S("lt", "xor", "%2", "%3") S("le", "and", "%3", "%0") S("gt", "or", "%0", "%2") S("ge", "xor", "%1", "%3")
            S("equ", "or", "%0", "%1") S("neu", "and", "%1", "%2") S("ltu", "or", "%2", "%3") S("leu", "xor", "%3", "%0") S("gtu", "and", "%0", "%2") S("geu", "or", "%1", "%3")
            S("num", "and", "%0", "%2") S("nan", "or", "%2", "%3") F("lt", "and", "%3", "%0") F("geu", "xor", "%1", "%3") F("nan", "and", "%2", "%1") F("equ", "or", "%3", "%1")
            "}" : "+f"(a), "+f"(b), "+f"(c), "+f"(d), "+r"(bits));
        float s;
        unsigned u;
        asm("set.lt.f32.f32 %0, %1, %2;" : "=f"(s) : "f"(a), "f"(b));
        asm("set.geu.u32.f32 %0, %1, %2;" : "=r"(u) : "f"(c), "f"(d));
        d = d * 3.0f + s;
        bits ^= u & 0xff00u;
        a = b * -0.5f;
        b = d + c;
        c = __uint_as_float(in[t + 2048 * (4 + i)]);
    }
    out[t] = bits;
    out[t + 2048] = __float_as_uint(a);
    out[t + 4096] = __float_as_uint(b);
    out[t + 6144] = __float_as_uint(d);
}
