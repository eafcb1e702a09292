// The approximate functions without flush to zero, on subnormal, huge and special arguments: MUFU with scaling around it, guarded FMUL by 2**24, FSETP.GEU, __fdividef, __powf, __expf, __logf, __sinf, __tanf.
// input: random
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const unsigned u = in[t + 2048 * k];
        const float x = __uint_as_float(u & 0x80ffffffu), y = __uint_as_float(u), z = __uint_as_float((u & 0x87ffffffu) | 0x38000000u);
        float r, q, s, e, l;
        asm("rcp.approx.f32 %0, %1;" : "=f"(r) : "f"(y));
        asm("rsqrt.approx.f32 %0, %1;" : "=f"(q) : "f"(x));
        asm("sqrt.approx.f32 %0, %1;" : "=f"(s) : "f"(x));
        asm("ex2.approx.f32 %0, %1;" : "=f"(e) : "f"(z * -139.0f));
        asm("lg2.approx.f32 %0, %1;" : "=f"(l) : "f"(x));
        const float d = __fdividef(z, y), p = __powf(fabsf(z), l), g = __expf(z) + __logf(fabsf(x)), h = __sinf(z) + __cosf(z * 3.0f) + __tanf(z);
        out[t + 2048 * (6 * k)] = __float_as_uint(r);
        out[t + 2048 * (6 * k + 1)] = __float_as_uint(q) ^ __float_as_uint(s);
        out[t + 2048 * (6 * k + 2)] = __float_as_uint(e + l);
        out[t + 2048 * (6 * k + 3)] = __float_as_uint(d);
        out[t + 2048 * (6 * k + 4)] = __float_as_uint(p > 1.0f ? g : h);
        out[t + 2048 * (6 * k + 5)] = __float_as_uint(g) + __float_as_uint(h) * 3;
    }
}
