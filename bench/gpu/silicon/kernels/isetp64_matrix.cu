// Every 64-bit integer comparison with and, or, xor of an accumulated predicate: ISETP.*.{AND,OR,XOR}.EX after ISETP.*.U32; results guard, select, vote and feed the next.
// input: random
#define S(rel, x, y) "setp." rel " p|q, " x ", " y ", r;\n\t@p add.u32 %4, %4, 0x9e3779b1;\n\t@!q xor.b32 %4, %4, 0x1234567;\n\tselp.u32 z, 3, 5, q;\n\txor.pred r, p, q;\n\tmad.lo.u32 %4, %4, 0x01000193, z;\n\tshf.l.wrap.b32 %4, %4, %4, 7;\n\t" "and.b32 w, %4, 0x10000003;\n\tsub.u32 z, w, z;\n\tshf.r.wrap.b32 w, %4, %4, 30;\n\tand.b32 w, w, 1;\n\tmov.b64 " x ", {z, w};\n\t"
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned hash = in[t], votes = 0, vote;
    unsigned long long a = in[t + 2048] & 15, b = in[t + 4096] & 15, c = in[t + 6144] & 15, d = 5;
    for (int i = 0; i < 2; i++) {
        asm volatile("{\n\t.reg .pred p, q, r;\n\t.reg .u32 w, z;\n\tsetp.ne.u32 r, %4, 3;\n\t"
        S("eq.and.s64", "%0", "%1") S("ne.and.s64", "%1", "%0") S("lt.and.s64", "%2", "%3") S("le.and.s64", "%3", "%2") S("gt.and.s64", "%0", "%1") S("ge.and.s64", "%1", "%0")
        S("eq.and.u64", "%2", "%3") S("ne.and.u64", "%3", "%2") S("lt.and.u64", "%0", "%1") S("le.and.u64", "%1", "%0") S("gt.and.u64", "%2", "%3") S("ge.and.u64", "%3", "%2")
        S("eq.or.s64", "%0", "%1") S("ne.or.s64", "%1", "%0") S("lt.or.s64", "%2", "%3") S("le.or.s64", "%3", "%2") S("gt.or.s64", "%0", "%1") S("ge.or.s64", "%1", "%0")
        S("eq.or.u64", "%2", "%3") S("ne.or.u64", "%3", "%2") S("lt.or.u64", "%0", "%1") S("le.or.u64", "%1", "%0") S("gt.or.u64", "%2", "%3") S("ge.or.u64", "%3", "%2")
        S("eq.xor.s64", "%0", "%1") S("ne.xor.s64", "%1", "%0") S("lt.xor.s64", "%2", "%3") S("le.xor.s64", "%3", "%2") S("gt.xor.s64", "%0", "%1") S("ge.xor.s64", "%1", "%0")
        S("eq.xor.u64", "%2", "%3") S("ne.xor.u64", "%3", "%2") S("lt.xor.u64", "%0", "%1") S("le.xor.u64", "%1", "%0") S("gt.xor.u64", "%2", "%3") S("ge.xor.u64", "%3", "%2")
        "vote.sync.ballot.b32 %5, r, 0xffffffff;\n\t@r add.u32 %4, %4, %5;\n\t}"
        : "+l"(a), "+l"(b), "+l"(c), "+l"(d), "+r"(hash), "=r"(vote));
        votes = votes * 3 + vote;
    }
    out[t] = hash;
    out[t + 2048] = votes;
}
