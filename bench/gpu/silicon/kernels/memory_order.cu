// Loads and stores with memory order on a thread's own cells, and fences: LDG.E.STRONG.GPU, LDG.E.STRONG.SYS, LDG.E.STRONG.SM, STG.E.STRONG.GPU, STG.E.STRONG.SYS, MEMBAR.SC.GPU, MEMBAR.ALL.CTA, ERRBAR, CGAERRBAR, CCTL.IVALL, ATOMG.E.ADD.STRONG.GPU.
// input: random
#define L(op, d, p) asm volatile(op " %0, [%1];" : "=r"(d) : "l"(p) : "memory")
#define S(op, p, v) asm volatile(op " [%0], %1;" :: "l"(p), "r"(v) : "memory")
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x = in[t], sum = 0, *o = out + t;
    for (int i = 0; i < 3; i++) {
        unsigned a, b, c, d, e;
        S("st.relaxed.gpu.global.u32", o, x);
        L("ld.relaxed.gpu.global.u32", a, o);
        S("st.release.gpu.global.u32", o + 2048, a + 1);
        L("ld.acquire.gpu.global.u32", b, o + 2048);
        S("st.release.cta.global.u32", o + 4096, a ^ b);
        L("ld.acquire.cta.global.u32", c, o + 4096);
        S("st.release.sys.global.u32", o + 6144, c * 3);
        L("ld.acquire.sys.global.u32", d, o + 6144);
        S("st.relaxed.sys.global.u32", o + 8192, d + x);
        asm volatile("fence.acq_rel.gpu;" ::: "memory");
        L("ld.relaxed.cta.global.u32", e, o + 8192);
        asm volatile("fence.sc.cta;" ::: "memory");
        __threadfence_block();
        sum = sum * 31 + a + b * 3 + (c ^ d) + e * 5;
        unsigned r;
        asm volatile("atom.add.acq_rel.gpu.global.u32 %0, [%1], %2;" : "=r"(r) : "l"(o + 10240), "r"(sum) : "memory");
        asm volatile("atom.exch.release.gpu.global.b32 %0, [%1], %2;" : "=r"(a) : "l"(o + 10240), "r"(r ^ e) : "memory");
        __threadfence();
        asm volatile("red.relaxed.gpu.global.xor.b32 [%0], %1;" :: "l"(o + 12288), "r"(a) : "memory");
        asm volatile("fence.sc.gpu;" ::: "memory");
        L("ld.volatile.global.u32", b, o + 12288);
        if (i == 1) __threadfence_system();
        x = x * 0x01000193u + sum + b + (a >> 3);
    }
    out[t + 16384] = sum;
    out[t + 18432] = x;
}
