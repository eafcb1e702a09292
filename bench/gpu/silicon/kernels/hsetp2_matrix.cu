// Every packed half comparison with and, or, xor of an accumulated predicate and two results: HSETP2.{EQ..NAN}.{AND,OR,XOR}.
// input: random
// The operands are made of a few values and NaN, so that every relation holds at times.
#define S(rel, x, y) "setp." rel " p|q, " x ", " y ", r;\n\t@p add.u32 %4, %4, 0x9e3779b1;\n\t@!q xor.b32 %4, %4, 0x1234567;\n\tselp.u32 z, 3, 5, q;\n\txor.pred r, p, q;\n\tmad.lo.u32 %4, %4, 0x01000193, z;\n\tshf.l.wrap.b32 %4, %4, %4, 7;\n\t" "and.b32 w, %4, 0x00070007;\n\tshl.b32 w, w, 13;\n\tor.b32 " x ", w, 0x1e001e00;\n\t"
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned hash = in[t], votes = 0, vote;
    unsigned a = 0x3c003c00u, b = 0x40003c00u, c = 0x42004200u, d = 0x3c004000u;
    for (int i = 0; i < 2; i++) {
        asm volatile("{\n\t.reg .pred p, q, r;\n\t.reg .b32 w, z;\n\tsetp.ne.u32 r, %4, 3;\n\t"
        S("eq.and.f16x2", "%0", "%1") S("ne.and.f16x2", "%1", "%2") S("lt.and.f16x2", "%2", "%3") S("le.and.f16x2", "%3", "%0") S("gt.and.f16x2", "%0", "%2") S("ge.and.f16x2", "%1", "%3")
        S("equ.and.f16x2", "%2", "%0") S("neu.and.f16x2", "%3", "%1") S("ltu.and.f16x2", "%0", "%3") S("leu.and.f16x2", "%1", "%0") S("gtu.and.f16x2", "%2", "%1") S("geu.and.f16x2", "%3", "%2")
        S("num.and.f16x2", "%0", "%1") S("nan.and.f16x2", "%1", "%2") S("eq.or.f16x2", "%2", "%3") S("ne.or.f16x2", "%3", "%0") S("lt.or.f16x2", "%0", "%2") S("le.or.f16x2", "%1", "%3")
        S("gt.or.f16x2", "%2", "%0") S("ge.or.f16x2", "%3", "%1") S("equ.or.f16x2", "%0", "%3") S("neu.or.f16x2", "%1", "%0") S("ltu.or.f16x2", "%2", "%1") S("leu.or.f16x2", "%3", "%2")
        S("gtu.or.f16x2", "%0", "%1") S("geu.or.f16x2", "%1", "%2") S("num.or.f16x2", "%2", "%3") S("nan.or.f16x2", "%3", "%0") S("eq.xor.f16x2", "%0", "%2") S("ne.xor.f16x2", "%1", "%3")
        S("lt.xor.f16x2", "%2", "%0") S("le.xor.f16x2", "%3", "%1") S("gt.xor.f16x2", "%0", "%3") S("ge.xor.f16x2", "%1", "%0") S("equ.xor.f16x2", "%2", "%1") S("neu.xor.f16x2", "%3", "%2")
        S("ltu.xor.f16x2", "%0", "%1") S("leu.xor.f16x2", "%1", "%2") S("gtu.xor.f16x2", "%2", "%3") S("geu.xor.f16x2", "%3", "%0") S("num.xor.f16x2", "%0", "%2") S("nan.xor.f16x2", "%1", "%3")
        "vote.sync.ballot.b32 %5, r, 0xffffffff;\n\t@r add.u32 %4, %4, %5;\n\t}"
        : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(hash), "=r"(vote));
        votes = votes * 3 + vote;
    }
    out[t] = hash;
    out[t + 2048] = votes;
}
