// Double comparisons in all relations with accumulated predicates, used at once by guards and selects: DSETP.LT.AND, .OR, .XOR, unordered ones, DADD, DMUL, FSEL, SEL.
// input: double
#define S(rel, op, x, y) "setp." rel "." op ".f64 p|q, " x ", " y ", r;\n\t@p add.u32 %4, %4, 0x1234567;\n\t@q xor.b32 %4, %4, 0x5a5a;\n\tselp.f64 f, %0, %3, q;\n\tadd.f64 %2, %2, f;\n\txor.pred r, p, q;\n\tshf.l.wrap.b32 %4, %4, %4, 3;\n\t"
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    const double* din = (const double*)in;
    unsigned bits = 0;
    double a = din[t], b = din[t + 2048], c = din[t + 4096], d = t % 5 ? din[t + 6144] : __longlong_as_double(0x7ff8000000000000ll);
    for (int i = 0; i < 3; i++) {
        asm volatile("{\n\t.reg .pred p, q, r;\n\t.reg .f64 f;\n\tsetp.neu.f64 r, %2, %3;\n\t"
            S("eq", "and", "%0", "%1") S("ne", "or", "%1", "%2") S("lt", "xor", "%2", "%3") S("le", "and", "%3", "%0") S("gt", "or", "%0", "%2") S("ge", "xor", "%1", "%3")
            S("equ", "or", "%0", "%1") S("neu", "and", "%1", "%2") S("ltu", "or", "%2", "%3") S("leu", "xor", "%3", "%0") S("gtu", "and", "%0", "%2") S("geu", "or", "%1", "%3")
            S("num", "and", "%0", "%2") S("nan", "or", "%2", "%3")
            "}" : "+d"(a), "+d"(b), "+d"(c), "+d"(d), "+r"(bits));
        if (a < b && b < c) bits += 3;
        if (fabs(c) > 8.0) c *= 0.125;
        d = fmin(d, a) - fmax(c, b * 0.5);
        a = b * -0.75 + (c < d ? 1.0 : a);
    }
    out[t] = bits;
    ((double*)out)[t + 2048] = a;
    ((double*)out)[t + 4096] = b;
    ((double*)out)[t + 6144] = c;
    ((double*)out)[t + 8192] = d;
}
