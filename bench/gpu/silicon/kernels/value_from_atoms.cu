// Values made by ATOMS and ATOMS.CAS and used at once by every kind of instruction: integer, float, double, half, conversion, address, store data, shift amount, predicate.
// input: random
#define PRODUCE "atom.shared.add.u32 z, [%4], %0;\n\t" "atom.shared.cas.b32 w, [%4+12], %1, %2;\n\t" "add.u32 %3, %3, w;\n\t"
// Makes z, then runs one consumer of it.
#define USE(consumer) asm volatile("{\n\t.reg .pred p, q;\n\t.reg .b32 z, w, v;\n\t.reg .b16 h, k;\n\t.reg .b64 l, m;\n\t.reg .f32 f, g;\n\t.reg .f64 d, e;\n\t" PRODUCE consumer "}" \
    : "+r"(a), "+r"(b), "+r"(c), "+r"(d) : "r"(cell), "l"(from), "l"(own) : "memory");
// Nothing made so far may be lost.
#define MIX sum = sum * 31 + (a ^ b ^ c ^ d);

extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    __shared__ __align__(16) unsigned s[256 * 4];
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x, cell = (unsigned)__cvta_generic_to_shared(s + threadIdx.x * 4);
    unsigned a = in[t], b = in[t + 2048], c = in[t + 4096], d = in[t + 6144];
    const unsigned* from = in + t;
    unsigned* own = out + 65536 + t * 4;
    for (int k = 0; k < 4; k++) s[threadIdx.x * 4 + k] = a + k;
    unsigned sum = 0;
    for (int i = 0; i < 4; i++) {
        USE("add.u32 %0, %0, z;\n\t")
        MIX
        USE("mad.lo.u32 %1, %1, z, %0;\n\t")
        MIX
        USE("mul.wide.u32 l, z, %2;\n\t" "mov.b64 {w, v}, l;\n\t" "xor.b32 %1, %1, v;\n\t" "add.u32 %0, %0, w;\n\t")
        MIX
        USE("mov.b32 f, z;\n\t" "fma.rn.f32 f, f, 0f3FC00000, 0f3F800000;\n\t" "mov.b32 w, f;\n\t" "xor.b32 %2, %2, w;\n\t")
        MIX
        USE("mov.b64 d, {z, %0};\n\t" "add.f64 d, d, 0d3FF0000000000000;\n\t" "mov.b64 {w, v}, d;\n\t" "xor.b32 %3, %3, v;\n\t" "add.u32 %2, %2, w;\n\t")
        MIX
        USE("mov.b64 d, {%1, z};\n\t" "fma.rn.f64 d, d, d, d;\n\t" "mov.b64 {w, v}, d;\n\t" "xor.b32 %0, %0, v;\n\t")
        MIX
        USE("add.rn.f16x2 w, z, %1;\n\t" "fma.rn.f16x2 w, w, %0, z;\n\t" "xor.b32 %2, %2, w;\n\t")
        MIX
        USE("mov.b32 f, z;\n\t" "sqrt.approx.ftz.f32 f, f;\n\t" "mov.b32 w, f;\n\t" "add.u32 %1, %1, w;\n\t")
        MIX
        USE("st.shared.u32 [%4+4], z;\n\t" "ld.shared.u32 w, [%4+4];\n\t" "add.u32 %0, %0, w;\n\t" "st.global.u32 [%6], z;\n\t")
        MIX
        USE("setp.lt.s32 p, z, %0;\n\t" "@p add.u32 %1, %1, 77;\n\t" "@!p xor.b32 %2, %2, z;\n\t")
        MIX
        USE("shf.l.wrap.b32 %0, %0, %1, z;\n\t" "shf.r.clamp.b32 %3, %3, %2, z;\n\t")
        MIX
        USE("cvt.rn.f32.s32 f, z;\n\t" "mov.b32 w, f;\n\t" "xor.b32 %1, %1, w;\n\t" "mov.b32 f, z;\n\t" "cvt.rzi.s32.f32 w, f;\n\t" "add.u32 %2, %2, w;\n\t")
        MIX
        USE("prmt.b32 w, %1, %2, z;\n\t" "xor.b32 %0, %0, w;\n\t" "lop3.b32 %3, %3, z, %1, 0x96;\n\t")
        MIX
        USE("popc.b32 w, z;\n\t" "brev.b32 v, z;\n\t" "add.u32 %0, %0, v;\n\t" "xor.b32 %1, %1, w;\n\t" "bfind.u32 w, z;\n\t" "add.u32 %2, %2, w;\n\t")
        MIX
        USE("and.b32 w, z, 0x3fc;\n\t" "cvt.u64.u32 l, w;\n\t" "add.u64 l, l, %5;\n\t" "ld.global.u32 w, [l];\n\t" "add.u32 %3, %3, w;\n\t")
        MIX
        USE("and.b32 w, z, 12;\n\t" "add.u32 w, w, %4;\n\t" "ld.shared.u32 v, [w];\n\t" "xor.b32 %0, %0, v;\n\t" "st.shared.u32 [w], z;\n\t")
        MIX
        USE("atom.shared.add.u32 w, [%4+8], z;\n\t" "xor.b32 %1, %1, w;\n\t" "red.global.xor.b32 [%6+4], z;\n\t")
        MIX
        USE("add.cc.u32 %0, %0, z;\n\t" "addc.u32 %1, %1, %2;\n\t" "dp4a.s32.s32 %3, z, %0, %3;\n\t")
        MIX
        USE("shfl.sync.bfly.b32 w, z, 1, 0x1f, 0xffffffff;\n\t" "add.u32 %2, %2, w;\n\t" "shfl.sync.idx.b32 w, %1, z, 0x1f, 0xffffffff;\n\t" "xor.b32 %3, %3, w;\n\t")
        MIX
        USE("setp.ne.u32 q, z, 0;\n\t" "selp.b32 w, z, %1, q;\n\t" "min.s32 w, w, %0;\n\t" "max.u32 w, w, z;\n\t" "add.u32 %2, %2, w;\n\t" "abs.s32 w, z;\n\t" "add.u32 %0, %0, w;\n\t")
        MIX
        USE("mov.b32 {h, k}, z;\n\t" "cvt.f32.f16 f, k;\n\t" "mov.b32 w, f;\n\t" "add.u32 %0, %0, w;\n\t" "cvt.s32.s16 w, h;\n\t" "xor.b32 %1, %1, w;\n\t")
        MIX
        USE("mov.b32 f, z;\n\t" "cvt.f64.f32 d, f;\n\t" "mov.b64 {w, v}, d;\n\t" "add.u32 %3, %3, v;\n\t" "setp.gt.f32 p, f, 0f3F800000;\n\t" "@p sub.u32 %2, %2, z;\n\t")
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
}
