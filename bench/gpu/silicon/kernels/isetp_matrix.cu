// Every 32-bit integer comparison with and, or, xor of an accumulated predicate and two results: ISETP.{EQ,NE,LT,LE,GT,GE}[.U32].{AND,OR,XOR}; results guard, select, vote and feed the next.
// input: random
#define S(rel, x, y) "setp." rel " p|q, " x ", " y ", r;\n\t@p add.u32 %4, %4, 0x9e3779b1;\n\t@!q xor.b32 %4, %4, 0x1234567;\n\tselp.u32 z, 3, 5, q;\n\txor.pred r, p, q;\n\tmad.lo.u32 %4, %4, 0x01000193, z;\n\tshf.l.wrap.b32 %4, %4, %4, 7;\n\t" "and.b32 w, %4, 15;\n\tsub.u32 " x ", w, z;\n\t"
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned hash = in[t], votes = 0, vote;
    unsigned a = in[t + 2048] & 15, b = in[t + 4096] & 15, c = in[t + 6144] & 15, d = 5;
    for (int i = 0; i < 2; i++) {
        asm volatile("{\n\t.reg .pred p, q, r;\n\t.reg .u32 w, z;\n\tsetp.ne.u32 r, %4, 3;\n\t"
        S("eq.and.s32", "%0", "%1") S("ne.and.s32", "%1", "%0") S("lt.and.s32", "%2", "%3") S("le.and.s32", "%3", "%2") S("gt.and.s32", "%0", "%1") S("ge.and.s32", "%1", "%0")
        S("eq.and.u32", "%2", "%3") S("ne.and.u32", "%3", "%2") S("lt.and.u32", "%0", "%1") S("le.and.u32", "%1", "%0") S("gt.and.u32", "%2", "%3") S("ge.and.u32", "%3", "%2")
        S("eq.or.s32", "%0", "%1") S("ne.or.s32", "%1", "%0") S("lt.or.s32", "%2", "%3") S("le.or.s32", "%3", "%2") S("gt.or.s32", "%0", "%1") S("ge.or.s32", "%1", "%0")
        S("eq.or.u32", "%2", "%3") S("ne.or.u32", "%3", "%2") S("lt.or.u32", "%0", "%1") S("le.or.u32", "%1", "%0") S("gt.or.u32", "%2", "%3") S("ge.or.u32", "%3", "%2")
        S("eq.xor.s32", "%0", "%1") S("ne.xor.s32", "%1", "%0") S("lt.xor.s32", "%2", "%3") S("le.xor.s32", "%3", "%2") S("gt.xor.s32", "%0", "%1") S("ge.xor.s32", "%1", "%0")
        S("eq.xor.u32", "%2", "%3") S("ne.xor.u32", "%3", "%2") S("lt.xor.u32", "%0", "%1") S("le.xor.u32", "%1", "%0") S("gt.xor.u32", "%2", "%3") S("ge.xor.u32", "%3", "%2")
        "vote.sync.ballot.b32 %5, r, 0xffffffff;\n\t@r add.u32 %4, %4, %5;\n\t}"
        : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(hash), "=r"(vote));
        votes = votes * 3 + vote;
    }
    out[t] = hash;
    out[t + 2048] = votes;
}
