// A switch on block-uniform values inside unrolled work, and a computed goto made with brx.idx: BRX, LDC of targets, BSSY, BSYNC, VIMNMX.
// input: random
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x = in[t], y = in[t + 2048];
    for (unsigned i = 0; i < n >> 17; i++) {
        switch ((blockIdx.x + i) % 9) {
        case 0: x = x * 3 + y; break;
        case 1: y ^= x >> 7; break;
        case 2: x = __brev(x); break;
        case 3: y += __popc(x) * 0x10001; break;
        case 4: x = __funnelshift_l(x, y, 11); break;
        case 5: y = __umulhi(x, y | 0x80000000u); break;
        case 6: x -= y * 5; break;
        case 7: y = y * y + x; break;
        default: x ^= 0x5a5a5a5au; break;
        }
        unsigned r;
        asm volatile("{\n\tT_%=: .branchtargets A_%=, B_%=, C_%=, D_%=, E_%=;\n\t.reg .u32 i;\n\tmul.hi.u32 i, %1, 5;\n\tbrx.idx i, T_%=;\n\t"
            "A_%=: add.u32 %0, %1, %2;\n\tbra Z_%=;\n\tB_%=: xor.b32 %0, %1, %2;\n\tbra Z_%=;\n\tC_%=: mad.lo.u32 %0, %1, %2, 17;\n\tbra Z_%=;\n\t"
            "D_%=: shf.r.wrap.b32 %0, %1, %2, 9;\n\tbra Z_%=;\n\tE_%=: min.s32 %0, %1, %2;\n\tZ_%=:\n\t}" : "=r"(r) : "r"(x), "r"(y));
        x += r * 0x9e3779b1u;
    }
    out[t] = x;
    out[t + 2048] = y;
}
