// Integer comparisons with an accumulated predicate and two results: ISETP.LT.AND, .OR, .XOR in every relation and signedness, ISETP.EX, results as guards, selects, vote operands.
// input: small
#define S(rel, op, ty, x, y) "setp." rel "." op "." ty " p|q, " x ", " y ", r;\n\t@p add.u32 %0, %0, %2;\n\t@q xor.b32 %1, %1, %3;\n\tselp.u32 z, %0, %1, p;\n\tadd.u32 %2, %2, z;\n\txor.pred r, p, q;\n\t"
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned a = in[t], b = in[t + 2048], c = in[t + 4096], d = in[t + 6144], e = 0;
    for (int i = 0; i < 4; i++) {
        asm volatile("{\n\t.reg .pred p, q, r;\n\t.reg .u32 z;\n\tsetp.ne.u32 r, %2, %3;\n\t"
            S("eq", "and", "u32", "%0", "%1") S("ne", "or", "s32", "%1", "%2") S("lt", "xor", "u32", "%2", "%3") S("le", "and", "s32", "%3", "%0")
            S("gt", "or", "u32", "%1", "%3") S("ge", "xor", "s32", "%0", "%2") S("lo", "and", "u32", "%0", "%3") S("ls", "or", "u32", "%3", "%1")
            S("hi", "xor", "u32", "%2", "%0") S("hs", "and", "u32", "%1", "%0") S("lt", "or", "s32", "%3", "%2") S("gt", "xor", "s32", "%0", "%1")
            "vote.sync.ballot.b32 z, r, 0xffffffff;\n\tadd.u32 %4, %4, z;\n\t}"
            : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e));
        const long long w = (long long)((unsigned long long)a << 32 | b), x = (long long)((unsigned long long)c << 32 | d);
        if ((w < x && a != 5) || (unsigned long long)w > 0x7000000000000000ull) d += 77;
        if ((w >= x) == (x > 123456789123ll)) a ^= e;
        b = b * 5 + 1;
        c = (c >> 3) + 3 * c;
    }
    out[t] = a;
    out[t + 2048] = b;
    out[t + 4096] = c;
    out[t + 6144] = d;
    out[t + 8192] = e;
}
