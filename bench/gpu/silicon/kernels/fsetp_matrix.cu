// Every float comparison, ordered and not, with and, or, xor of an accumulated predicate and two results: FSETP.{EQ..NAN}.{AND,OR,XOR}; results guard, select, vote and feed the next.
// input: random
// The operands are made of a few values and NaN, so that every relation holds at times.
#define S(rel, x, y) "setp." rel " p|q, " x ", " y ", r;\n\t@p add.u32 %4, %4, 0x9e3779b1;\n\t@!q xor.b32 %4, %4, 0x1234567;\n\tselp.u32 z, 3, 5, q;\n\txor.pred r, p, q;\n\tmad.lo.u32 %4, %4, 0x01000193, z;\n\tshf.l.wrap.b32 %4, %4, %4, 7;\n\t" "and.b32 w, %4, 7;\n\tshl.b32 w, w, 29;\n\tor.b32 w, w, 0x1fc00000;\n\tmov.b32 " x ", w;\n\t"
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned hash = in[t], votes = 0, vote;
    float a = 1.0f, b = 2.0f, c = 3.0f, d = 1.5f;
    for (int i = 0; i < 2; i++) {
        asm volatile("{\n\t.reg .pred p, q, r;\n\t.reg .b32 w, z;\n\tsetp.ne.u32 r, %4, 3;\n\t"
        S("eq.and.f32", "%0", "%1") S("ne.and.f32", "%1", "%2") S("lt.and.f32", "%2", "%3") S("le.and.f32", "%3", "%0") S("gt.and.f32", "%0", "%2") S("ge.and.f32", "%1", "%3")
        S("equ.and.f32", "%2", "%0") S("neu.and.f32", "%3", "%1") S("ltu.and.f32", "%0", "%3") S("leu.and.f32", "%1", "%0") S("gtu.and.f32", "%2", "%1") S("geu.and.f32", "%3", "%2")
        S("num.and.f32", "%0", "%1") S("nan.and.f32", "%1", "%2") S("eq.or.f32", "%2", "%3") S("ne.or.f32", "%3", "%0") S("lt.or.f32", "%0", "%2") S("le.or.f32", "%1", "%3")
        S("gt.or.f32", "%2", "%0") S("ge.or.f32", "%3", "%1") S("equ.or.f32", "%0", "%3") S("neu.or.f32", "%1", "%0") S("ltu.or.f32", "%2", "%1") S("leu.or.f32", "%3", "%2")
        S("gtu.or.f32", "%0", "%1") S("geu.or.f32", "%1", "%2") S("num.or.f32", "%2", "%3") S("nan.or.f32", "%3", "%0") S("eq.xor.f32", "%0", "%2") S("ne.xor.f32", "%1", "%3")
        S("lt.xor.f32", "%2", "%0") S("le.xor.f32", "%3", "%1") S("gt.xor.f32", "%0", "%3") S("ge.xor.f32", "%1", "%0") S("equ.xor.f32", "%2", "%1") S("neu.xor.f32", "%3", "%2")
        S("ltu.xor.f32", "%0", "%1") S("leu.xor.f32", "%1", "%2") S("gtu.xor.f32", "%2", "%3") S("geu.xor.f32", "%3", "%0") S("num.xor.f32", "%0", "%2") S("nan.xor.f32", "%1", "%3")
        "vote.sync.ballot.b32 %5, r, 0xffffffff;\n\t@r add.u32 %4, %4, %5;\n\t}"
        : "+f"(a), "+f"(b), "+f"(c), "+f"(d), "+r"(hash), "=r"(vote));
        votes = votes * 3 + vote;
    }
    out[t] = hash;
    out[t + 2048] = votes;
}
