// Predicate logic in PTX, and, or, xor, not, over ten values: PLOP3.LUT with many tables, ISETP.LT.U32.XOR, ISETP.LE.XOR, ISETP.NE.U32.OR, VOTE, guards and selects.
// input: random
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned a = in[t], b = in[t + 2048], c = in[t + 4096], d = in[t + 6144], s = 0, u = 0;
    for (int i = 0; i < 6; i++) {
        asm volatile("{\n\t.reg .pred p, q, r, x, y, z, w, v, o, m;\n\t"
            "setp.lt.u32 p, %0, %1;\n\tsetp.gt.s32 q, %2, %3;\n\tsetp.ne.u32 r, %4, 7;\n\tsetp.le.s32 o, %1, %2;\n\t"
            "and.pred x, p, q;\n\tor.pred y, x, r;\n\txor.pred z, y, p;\n\tnot.pred w, z;\n\t"
            "and.pred v, w, q;\n\txor.pred v, v, o;\n\tor.pred m, v, x;\n\txor.pred m, m, z;\n\t"
            "@x add.u32 %0, %0, %3;\n\t@!y xor.b32 %1, %1, %0;\n\t@z sub.u32 %2, %2, %1;\n\t@w shf.l.wrap.b32 %3, %3, %3, 5;\n\t"
            "selp.u32 %4, 12345, %0, v;\n\t@m add.u32 %5, %5, %4;\n\t"
            "vote.sync.ballot.b32 %4, m, 0xffffffff;\n\tselp.b32 %5, %4, %5, o;\n\t}"
            : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(s), "+r"(u));
        a = a * 0x9e3779b1u + s;
        b += c ^ u;
        c = (c << 9 | c >> 23) + d;
        d ^= b >> 4;
    }
    out[t] = a;
    out[t + 2048] = b;
    out[t + 4096] = c;
    out[t + 6144] = d;
    out[t + 8192] = s;
    out[t + 10240] = u;
}
