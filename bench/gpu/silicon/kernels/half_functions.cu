// Half transcendental functions: hexp, hexp2, hexp10, hlog, hlog2, hsin, hcos, htanh, hrcp, hrsqrt, hsqrt, division, rounding: MUFU.EX2.F16, MUFU.TANH.F16, MUFU.*, HADD2.F32, F2FP.F16.F32.PACK_AB, FRND.F16.
// input: half
#include <cuda_fp16.h>
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned sum = 0;
#pragma unroll
    for (int k = 0; k < 3; k++) {
        const __half2 v = *(const __half2*)(in + t + 2048 * k);
        const __half x = __low2half(v), y = __high2half(v);
        const __half a = hexp(x), b = hexp2(y), c = hlog(__habs(x)), d = hlog2(__habs(y)), e = hsin(x), f = hcos(y), g = hrcp(x), h = hrsqrt(__habs(y)), i = hsqrt(__habs(x)), j = __hdiv(x, y);
        const __half l = hrint(__hmul(x, y)), m = hfloor(y), o = hceil(x), p = htrunc(__hadd(x, a)), q = hexp10(y), r = hlog10(__habs(x));
        const __half2 w = h2exp2(v), s = h2sin(v), u = __h2div(w, s), z = h2sqrt(__habs2(s));
        unsigned tanh2, ex2, ex1;
        asm("tanh.approx.f16x2 %0, %1;" : "=r"(tanh2) : "r"(*(const unsigned*)&v));
        asm("ex2.approx.f16x2 %0, %1;" : "=r"(ex2) : "r"(tanh2));
        asm("{.reg .b16 h, g; mov.b32 {h, g}, %1; ex2.approx.f16 h, h; tanh.approx.f16 g, g; mov.b32 %0, {h, g};}" : "=r"(ex1) : "r"(ex2));
        const __half2 one = __halves2half2(__hadd(__hadd(a, b), __hfma(c, d, e)), __hmul(__hadd(f, g), __hsub(h, i)));
        const __half2 two = __halves2half2(__hlt(j, l) ? m : o, __hgt(p, q) ? r : p);
        const __half2 three = __hfma2(u, z, one);
        out[t + 2048 * (5 * k)] = *(const unsigned*)&one;
        out[t + 2048 * (5 * k + 1)] = *(const unsigned*)&two;
        out[t + 2048 * (5 * k + 2)] = *(const unsigned*)&three;
        out[t + 2048 * (5 * k + 3)] = ex1 ^ tanh2;
        sum = sum * 7 + (unsigned)__half2int_rd(j) + (unsigned)__half2ull_rz(a) + __half2uint_ru(b) + ex2;
    }
    out[t + 2048 * 15] = sum;
}
