// Every double comparison, ordered and not, with and, or, xor of an accumulated predicate and two results: DSETP.{EQ..NAN}.{AND,OR,XOR}.
// input: random
// The operands are made of a few values and NaN, so that every relation holds at times.
#define S(rel, x, y) "setp." rel " p|q, " x ", " y ", r;\n\t@p add.u32 %4, %4, 0x9e3779b1;\n\t@!q xor.b32 %4, %4, 0x1234567;\n\tselp.u32 z, 3, 5, q;\n\txor.pred r, p, q;\n\tmad.lo.u32 %4, %4, 0x01000193, z;\n\tshf.l.wrap.b32 %4, %4, %4, 7;\n\t" "and.b32 w, %4, 7;\n\tshl.b32 w, w, 29;\n\tor.b32 w, w, 0x1ff80000;\n\tmov.b64 " x ", {z, w};\n\t"
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned hash = in[t], votes = 0, vote;
    double a = 1.0, b = 2.0, c = 3.0, d = 1.5;
    for (int i = 0; i < 2; i++) {
        asm volatile("{\n\t.reg .pred p, q, r;\n\t.reg .b32 w, z;\n\tsetp.ne.u32 r, %4, 3;\n\t"
        S("eq.and.f64", "%0", "%1") S("ne.and.f64", "%1", "%2") S("lt.and.f64", "%2", "%3") S("le.and.f64", "%3", "%0") S("gt.and.f64", "%0", "%2") S("ge.and.f64", "%1", "%3")
        S("equ.and.f64", "%2", "%0") S("neu.and.f64", "%3", "%1") S("ltu.and.f64", "%0", "%3") S("leu.and.f64", "%1", "%0") S("gtu.and.f64", "%2", "%1") S("geu.and.f64", "%3", "%2")
        S("num.and.f64", "%0", "%1") S("nan.and.f64", "%1", "%2") S("eq.or.f64", "%2", "%3") S("ne.or.f64", "%3", "%0") S("lt.or.f64", "%0", "%2") S("le.or.f64", "%1", "%3")
        S("gt.or.f64", "%2", "%0") S("ge.or.f64", "%3", "%1") S("equ.or.f64", "%0", "%3") S("neu.or.f64", "%1", "%0") S("ltu.or.f64", "%2", "%1") S("leu.or.f64", "%3", "%2")
        S("gtu.or.f64", "%0", "%1") S("geu.or.f64", "%1", "%2") S("num.or.f64", "%2", "%3") S("nan.or.f64", "%3", "%0") S("eq.xor.f64", "%0", "%2") S("ne.xor.f64", "%1", "%3")
        S("lt.xor.f64", "%2", "%0") S("le.xor.f64", "%3", "%1") S("gt.xor.f64", "%0", "%3") S("ge.xor.f64", "%1", "%0") S("equ.xor.f64", "%2", "%1") S("neu.xor.f64", "%3", "%2")
        S("ltu.xor.f64", "%0", "%1") S("leu.xor.f64", "%1", "%2") S("gtu.xor.f64", "%2", "%3") S("geu.xor.f64", "%3", "%0") S("num.xor.f64", "%0", "%2") S("nan.xor.f64", "%1", "%3")
        "vote.sync.ballot.b32 %5, r, 0xffffffff;\n\t@r add.u32 %4, %4, %5;\n\t}"
        : "+d"(a), "+d"(b), "+d"(c), "+d"(d), "+r"(hash), "=r"(vote));
        votes = votes * 3 + vote;
    }
    out[t] = hash;
    out[t + 2048] = votes;
}
