// Packed half setp with two results at once and an accumulated predicate: HSETP2 with P|Q out, every relation, and, or, xor; both results guard, select, branch and vote.
// input: half
#define S(rel, op, x, y) "setp." rel "." op ".f16x2 p|q, " x ", " y ", r;\n\t@p add.u32 %4, %4, 0x1234567;\n\t@!q xor.b32 %4, %4, 0x5a5a;\n\tselp.b32 f, %0, %3, q;\n\tadd.rn.f16x2 %2, %2, f;\n\txor.pred r, p, q;\n\tshf.l.wrap.b32 %4, %4, %4, 3;\n\t"
#define F(rel, op, x, y) "setp." rel "." op ".bf16x2 p|q, " x ", " y ", !r;\n\t@q add.u32 %4, %4, 0x7654321;\n\tselp.b32 f, %1, %2, p;\n\tfma.rn.f16x2 %3, %3, f, %0;\n\tor.pred r, p, q;\n\tshf.l.wrap.b32 %4, %4, %4, 5;\n\t"
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned bits = 0, a = in[t], b = in[t + 2048], c = in[t + 4096], d = in[t + 6144], votes = 0;
    for (int i = 0; i < 3; i++) {
        unsigned vote;
        asm volatile("{\n\t.reg .pred p, q, r;\n\t.reg .b32 f;\n\tsetp.ne.u32 r, %2, %3;\n\t"
            S("eq", "and", "%0", "%1") S("ne", "or", "%1", "%2") S("lt", "xor", "%2", "%3") S("le", "and", "%3", "%0") S("gt", "or", "%0", "%2") S("ge", "xor", "%1", "%3")
            S("equ", "or", "%0", "%1") S("neu", "and", "%1", "%2") S("ltu", "or", "%2", "%3") S("leu", "xor", "%3", "%0") S("gtu", "and", "%0", "%2") S("geu", "or", "%1", "%3")
            S("num", "and", "%0", "%2") S("nan", "or", "%2", "%3") F("lt", "and", "%3", "%0") F("geu", "xor", "%1", "%3") F("nan", "and", "%2", "%1") F("equ", "or", "%3", "%1")
            "setp.lt.f16x2 p|q, %0, %3;\n\tvote.sync.ballot.b32 %5, q, 0xffffffff;\n\tvote.sync.any.pred p, p, 0xffffffff;\n\t@p bra SKIP_%=;\n\tadd.u32 %4, %4, 77;\n\tSKIP_%=:\n\t"
            "}" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(bits), "=r"(vote));
        votes = votes * 3 + vote;
        const unsigned s = a;
        a = b;
        b = in[t + 2048 * (4 + i)];
        c = s ^ 0x80000000u;
    }
    out[t] = bits;
    out[t + 2048] = a;
    out[t + 4096] = b;
    out[t + 6144] = c;
    out[t + 8192] = d;
    out[t + 10240] = votes;
}
