// Every packed bfloat16 comparison with and, or, xor of an accumulated predicate and two results: HSETP2.BF16_V2.{EQ..NAN}.{AND,OR,XOR}.
// input: random
// The operands are made of a few values and NaN, so that every relation holds at times.
#define S(rel, x, y) "setp." rel " p|q, " x ", " y ", r;\n\t@p add.u32 %4, %4, 0x9e3779b1;\n\t@!q xor.b32 %4, %4, 0x1234567;\n\tselp.u32 z, 3, 5, q;\n\txor.pred r, p, q;\n\tmad.lo.u32 %4, %4, 0x01000193, z;\n\tshf.l.wrap.b32 %4, %4, %4, 7;\n\t" "and.b32 w, %4, 0x00070007;\n\tshl.b32 w, w, 13;\n\tor.b32 " x ", w, 0x1fc01fc0;\n\t"
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned hash = in[t], votes = 0, vote;
    unsigned a = 0x3c003c00u, b = 0x40003c00u, c = 0x42004200u, d = 0x3c004000u;
    for (int i = 0; i < 2; i++) {
        asm volatile("{\n\t.reg .pred p, q, r;\n\t.reg .b32 w, z;\n\tsetp.ne.u32 r, %4, 3;\n\t"
        S("eq.and.bf16x2", "%0", "%1") S("ne.and.bf16x2", "%1", "%2") S("lt.and.bf16x2", "%2", "%3") S("le.and.bf16x2", "%3", "%0") S("gt.and.bf16x2", "%0", "%2") S("ge.and.bf16x2", "%1", "%3")
        S("equ.and.bf16x2", "%2", "%0") S("neu.and.bf16x2", "%3", "%1") S("ltu.and.bf16x2", "%0", "%3") S("leu.and.bf16x2", "%1", "%0") S("gtu.and.bf16x2", "%2", "%1") S("geu.and.bf16x2", "%3", "%2")
        S("num.and.bf16x2", "%0", "%1") S("nan.and.bf16x2", "%1", "%2") S("eq.or.bf16x2", "%2", "%3") S("ne.or.bf16x2", "%3", "%0") S("lt.or.bf16x2", "%0", "%2") S("le.or.bf16x2", "%1", "%3")
        S("gt.or.bf16x2", "%2", "%0") S("ge.or.bf16x2", "%3", "%1") S("equ.or.bf16x2", "%0", "%3") S("neu.or.bf16x2", "%1", "%0") S("ltu.or.bf16x2", "%2", "%1") S("leu.or.bf16x2", "%3", "%2")
        S("gtu.or.bf16x2", "%0", "%1") S("geu.or.bf16x2", "%1", "%2") S("num.or.bf16x2", "%2", "%3") S("nan.or.bf16x2", "%3", "%0") S("eq.xor.bf16x2", "%0", "%2") S("ne.xor.bf16x2", "%1", "%3")
        S("lt.xor.bf16x2", "%2", "%0") S("le.xor.bf16x2", "%3", "%1") S("gt.xor.bf16x2", "%0", "%3") S("ge.xor.bf16x2", "%1", "%0") S("equ.xor.bf16x2", "%2", "%1") S("neu.xor.bf16x2", "%3", "%2")
        S("ltu.xor.bf16x2", "%0", "%1") S("leu.xor.bf16x2", "%1", "%2") S("gtu.xor.bf16x2", "%2", "%3") S("geu.xor.bf16x2", "%3", "%0") S("num.xor.bf16x2", "%0", "%2") S("nan.xor.bf16x2", "%1", "%3")
        "vote.sync.ballot.b32 %5, r, 0xffffffff;\n\t@r add.u32 %4, %4, %5;\n\t}"
        : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(hash), "=r"(vote));
        votes = votes * 3 + vote;
    }
    out[t] = hash;
    out[t + 2048] = votes;
}
