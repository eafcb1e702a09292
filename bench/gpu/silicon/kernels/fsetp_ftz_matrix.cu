// Every float comparison with flush to zero and an accumulated predicate: FSETP.{EQ..NAN}.FTZ.{AND,OR,XOR}.
// input: random
// The operands are made of a few values and NaN, so that every relation holds at times.
#define S(rel, x, y) "setp." rel " p|q, " x ", " y ", r;\n\t@p add.u32 %4, %4, 0x9e3779b1;\n\t@!q xor.b32 %4, %4, 0x1234567;\n\tselp.u32 z, 3, 5, q;\n\txor.pred r, p, q;\n\tmad.lo.u32 %4, %4, 0x01000193, z;\n\tshf.l.wrap.b32 %4, %4, %4, 7;\n\t" "and.b32 w, %4, 7;\n\tshl.b32 w, w, 29;\n\tor.b32 w, w, 0x1fc00000;\n\tmov.b32 " x ", w;\n\t"
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned hash = in[t], votes = 0, vote;
    float a = 1.0f, b = 2.0f, c = 3.0f, d = 1.5f;
    for (int i = 0; i < 2; i++) {
        asm volatile("{\n\t.reg .pred p, q, r;\n\t.reg .b32 w, z;\n\tsetp.ne.u32 r, %4, 3;\n\t"
        S("eq.and.ftz.f32", "%0", "%1") S("ne.and.ftz.f32", "%1", "%2") S("lt.and.ftz.f32", "%2", "%3") S("le.and.ftz.f32", "%3", "%0") S("gt.and.ftz.f32", "%0", "%2") S("ge.and.ftz.f32", "%1", "%3")
        S("equ.and.ftz.f32", "%2", "%0") S("neu.and.ftz.f32", "%3", "%1") S("ltu.and.ftz.f32", "%0", "%3") S("leu.and.ftz.f32", "%1", "%0") S("gtu.and.ftz.f32", "%2", "%1") S("geu.and.ftz.f32", "%3", "%2")
        S("num.and.ftz.f32", "%0", "%1") S("nan.and.ftz.f32", "%1", "%2") S("eq.or.ftz.f32", "%2", "%3") S("ne.or.ftz.f32", "%3", "%0") S("lt.or.ftz.f32", "%0", "%2") S("le.or.ftz.f32", "%1", "%3")
        S("gt.or.ftz.f32", "%2", "%0") S("ge.or.ftz.f32", "%3", "%1") S("equ.or.ftz.f32", "%0", "%3") S("neu.or.ftz.f32", "%1", "%0") S("ltu.or.ftz.f32", "%2", "%1") S("leu.or.ftz.f32", "%3", "%2")
        S("gtu.or.ftz.f32", "%0", "%1") S("geu.or.ftz.f32", "%1", "%2") S("num.or.ftz.f32", "%2", "%3") S("nan.or.ftz.f32", "%3", "%0") S("eq.xor.ftz.f32", "%0", "%2") S("ne.xor.ftz.f32", "%1", "%3")
        S("lt.xor.ftz.f32", "%2", "%0") S("le.xor.ftz.f32", "%3", "%1") S("gt.xor.ftz.f32", "%0", "%3") S("ge.xor.ftz.f32", "%1", "%0") S("equ.xor.ftz.f32", "%2", "%1") S("neu.xor.ftz.f32", "%3", "%2")
        S("ltu.xor.ftz.f32", "%0", "%1") S("leu.xor.ftz.f32", "%1", "%2") S("gtu.xor.ftz.f32", "%2", "%3") S("geu.xor.ftz.f32", "%3", "%0") S("num.xor.ftz.f32", "%0", "%2") S("nan.xor.ftz.f32", "%1", "%3")
        "vote.sync.ballot.b32 %5, r, 0xffffffff;\n\t@r add.u32 %4, %4, %5;\n\t}"
        : "+f"(a), "+f"(b), "+f"(c), "+f"(d), "+r"(hash), "=r"(vote));
        votes = votes * 3 + vote;
    }
    out[t] = hash;
    out[t + 2048] = votes;
}
