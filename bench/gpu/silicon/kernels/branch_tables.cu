// Indirect branches on per-thread and uniform indices inside loops, eight targets with work in each: BRX, BRXU, LDC of offsets, BSSY, BSYNC.
// input: random
#define TABLE(idx) \
    asm volatile("{\n\tT_%=: .branchtargets A_%=, B_%=, C_%=, D_%=, E_%=, F_%=, G_%=, H_%=;\n\t.reg .u32 i, m;\n\t.reg .pred p;\n\tmov.u32 i, %3;\n\tbrx.idx i, T_%=;\n\t" \
        "A_%=: add.u32 %0, %0, %1;\n\tpopc.b32 m, %1;\n\tadd.u32 %2, %2, m;\n\tbra Z_%=;\n\t" \
        "B_%=: xor.b32 %1, %0, %1;\n\tmad.lo.u32 %0, %0, 5, 1;\n\tbra Z_%=;\n\t" \
        "C_%=: mad.lo.u32 %0, %1, %1, 17;\n\tsetp.lt.u32 p, %0, %2;\n\t@p add.u32 %2, %2, 3;\n\tbra Z_%=;\n\t" \
        "D_%=: shf.r.wrap.b32 %0, %1, %0, 9;\n\tbra Z_%=;\n\t" \
        "E_%=: min.s32 %0, %1, %2;\n\tmax.u32 %1, %1, 77;\n\tbra Z_%=;\n\t" \
        "F_%=: mul.hi.u32 m, %0, %1;\n\tadd.u32 %1, %1, m;\n\tbra Z_%=;\n\t" \
        "G_%=: brev.b32 %0, %0;\n\tclz.b32 m, %1;\n\tshl.b32 %2, %2, 1;\n\tadd.u32 %2, %2, m;\n\tbra Z_%=;\n\t" \
        "H_%=: sub.u32 %1, %1, %0;\n\tZ_%=:\n\t}" : "+r"(x), "+r"(y), "+r"(z) : "r"(idx))
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x = in[t], y = in[t + 2048], z = 1;
    for (unsigned i = 0; i < 10; i++) {
        TABLE((x + i) & 7);
        x = x * 0x01000193u + z;
        TABLE((blockIdx.x + i) & 7);
        if ((y & 31) == 3) break;
        TABLE((n >> 17) - 1);
        y += x >> 11;
    }
    out[t] = x;
    out[t + 2048] = y;
    out[t + 4096] = z;
}
