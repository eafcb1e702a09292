// Predicates made by ISETP of values just loaded from shared, global and constant memory and used at once by guards of every kind of instruction, selects, branches, votes and comparisons.
// input: random
#define PRODUCE "ld.shared.u32 z, [%6];\n\t" "setp.lt.u32 p, z, %0;\n\t" "ld.global.u32 w, [%7+16384];\n\t" "setp.gt.s32 q, w, %1;\n\t"
// Makes p and q, then runs one consumer of them.
#define USE(consumer) asm volatile("{\n\t.reg .pred p, q, r;\n\t.reg .b32 z, w;\n\t.reg .b64 l;\n\t.reg .f32 f, g;\n\t.reg .f64 d, e;\n\t" PRODUCE consumer "}" \
    : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+f"(f), "+d"(g) : "r"(cell), "l"(from), "l"(own), "l"(any) : "memory");
// Nothing made so far may be lost.
#define MIX sum = sum * 31 + (a ^ b ^ c ^ d);

extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    __shared__ __align__(16) unsigned s[256 * 4];
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x, cell = (unsigned)__cvta_generic_to_shared(s + threadIdx.x * 4);
    unsigned a = in[t], b = in[t + 2048], c = in[t + 4096], d = in[t + 6144];
    const unsigned* from = in + t;
    unsigned* own = out + 65536 + t * 4;
    const void* any = a & 1 ? (const void*)(s + threadIdx.x * 4) : (const void*)own;
    float f = 1.5f;
    double g = 0.75;
    for (int k = 0; k < 4; k++) s[threadIdx.x * 4 + k] = a + k;
    unsigned sum = 0;
    for (int i = 0; i < 4; i++) {
        USE("@p add.u32 %0, %0, %1;\n\t" "@!q xor.b32 %1, %1, %2;\n\t")
        MIX
        USE("selp.b32 z, %0, %1, p;\n\t" "mad.lo.u32 %2, z, 5, %2;\n\t")
        MIX
        USE("@p rcp.approx.ftz.f32 %4, %4;\n\t" "@!q fma.rn.f32 %4, %4, 0f3F000000, 0f3F800000;\n\t")
        MIX
        USE("@p fma.rn.f64 %5, %5, 0d3FE0000000000000, 0d3FF0000000000000;\n\t" "@q add.f64 %5, %5, 0dBFD0000000000000;\n\t")
        MIX
        USE("@p ld.shared.u32 %3, [%6];\n\t" "@q st.shared.u32 [%6+4], %0;\n\t" "@!p st.shared.u32 [%6+8], %1;\n\t")
        MIX
        USE("@p ld.global.u32 %2, [%7+8192];\n\t" "@q st.global.u32 [%8], %0;\n\t")
        MIX
        USE("@p red.global.add.u32 [%8+4], %1;\n\t" "@q atom.shared.add.u32 %3, [%6+12], %2;\n\t")
        MIX
        USE("vote.sync.ballot.b32 z, p, 0xffffffff;\n\t" "xor.b32 %3, %3, z;\n\t" "vote.sync.all.pred r, q, 0xffffffff;\n\t" "@r add.u32 %0, %0, 3;\n\t")
        MIX
        USE("@p bra SKIP_%=;\n\t" "mad.lo.u32 %0, %0, 7, %2;\n\t" "xor.b32 %1, %1, 0x5a5a;\n\t" "SKIP_%=: add.u32 %2, %2, 1;\n\t")
        MIX
        USE("setp.lt.and.u32 r, %0, %1, p;\n\t" "@r add.u32 %3, %3, %0;\n\t" "setp.gt.xor.s32 r, %2, %3, q;\n\t" "@!r sub.u32 %1, %1, 9;\n\t")
        MIX
        USE("@p fma.rn.f16x2 %3, %0, %1, %2;\n\t" "@q add.rn.f16x2 %0, %0, %3;\n\t")
        MIX
        USE("selp.f32 f, %4, 0f40000000, p;\n\t" "add.f32 %4, f, 0f3E800000;\n\t" "selp.f64 d, %5, 0d4000000000000000, q;\n\t" "mul.f64 %5, d, 0d3FE8000000000000;\n\t")
        MIX
        USE("@p popc.b32 z, %0;\n\t" "@!p mov.u32 z, 7;\n\t" "add.u32 %1, %1, z;\n\t" "@q cvt.rzi.s32.f32 %2, %4;\n\t")
        MIX
        USE("xor.pred r, p, q;\n\t" "or.pred r, r, p;\n\t" "@r prmt.b32 %0, %0, %1, 0x2103;\n\t" "@!r dp4a.u32.u32 %1, %0, %2, %1;\n\t")
        MIX
        USE("@p mul.hi.u32 %2, %0, %1;\n\t" "@q shf.l.wrap.b32 %3, %3, %0, %1;\n\t" "@!p min.s32 %1, %1, %0;\n\t")
        MIX
        USE("selp.u32 z, 1, 0, p;\n\t" "selp.u32 w, 1, 0, q;\n\t" "shl.b32 w, w, 1;\n\t" "add.u32 z, z, w;\n\t" "mad.lo.u32 %0, %0, 4, z;\n\t")
        MIX
        a = a * 0x01000193u + d;
        b = (b << 7 | b >> 25) ^ c;
        c += a >> 3;
        d = d * 5 + 1;
    }
    for (int k = 0; k < 4; k++) sum = sum * 31 + s[threadIdx.x * 4 + k];
    out[t] = a;
    out[t + 2048] = b;
    out[t + 4096] = c;
    out[t + 6144] = d;
    out[t + 8192] = sum;
    out[t + 10240] = __float_as_uint(f);
    ((double*)out)[t + 8192] = g;
}
