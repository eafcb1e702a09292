// Float arithmetic in the four rounding modes: FADD.RM/.RP/.RZ, FMUL.RM/.RP/.RZ, FFMA.RM/.RP/.RZ, div and sqrt in rd, ru, rz, FADD.SAT, FFMA.SAT, FMUL.SAT, FTZ ones.
// input: float
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    float a = __uint_as_float(in[t]), b = __uint_as_float(in[t + 2048]), c = __uint_as_float(in[t + 4096]), d = __uint_as_float(in[t + 6144]);
    unsigned bits = 0;
    for (int i = 0; i < 4; i++) {
        const float p = __fadd_rd(a, b), q = __fadd_ru(a, b), r = __fadd_rz(c, d), s = __fadd_rn(c, d);
        const float u = __fmul_rd(p, c), v = __fmul_ru(q, d), w = __fmul_rz(r, a), x = __fmul_rn(s, b);
        const float e = __fmaf_rd(u, d, v), f = __fmaf_ru(w, x, a), g = __fmaf_rz(p, u, r), h = __fmaf_ieee_rz(q, x, s);
        float sat, ftz, fs, ms;
        asm("add.sat.f32 %0, %1, %2;" : "=f"(sat) : "f"(e), "f"(f));
        asm("fma.rm.ftz.f32 %0, %1, %2, %3;" : "=f"(ftz) : "f"(sat), "f"(g), "f"(h));
        asm("fma.rn.sat.f32 %0, %1, %2, %3;" : "=f"(fs) : "f"(g), "f"(h), "f"(e));
        asm("mul.rp.sat.f32 %0, %1, %2;" : "=f"(ms) : "f"(e), "f"(f));
        if (p != q) bits |= 1u << i;
        if (r < s) bits |= 256u << i;
        a = __fdiv_rd(e, __fadd_rn(fabsf(f), 1.0f));
        b = __fdiv_ru(g, __fadd_rn(fabsf(h), 1.0f)) + sat;
        c = __fsqrt_rz(fabsf(ftz)) - fs;
        d = __frcp_ru(fabsf(v) + 1.0f) + ms + __fsqrt_rd(fabsf(h));
    }
    out[t] = __float_as_uint(a);
    out[t + 2048] = __float_as_uint(b);
    out[t + 4096] = __float_as_uint(c);
    out[t + 6144] = __float_as_uint(d);
    out[t + 8192] = bits;
}
