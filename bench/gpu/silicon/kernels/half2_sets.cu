// Packed half comparisons that leave masks or ones: HSET2.BF, HSET2 masks, HSET2.BF16_V2 in several relations with and, xor; results used by LOP3, HFMA2 and integer adds.
// input: half
#define S(rel, ty, d, x, y) asm("set." rel "." ty " %0, %1, %2;" : "=r"(d) : "r"(x), "r"(y))
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned a[4], sum = 0;
#pragma unroll
    for (int k = 0; k < 4; k++) a[k] = in[t + 2048 * k];
    for (int i = 0; i < 4; i++) {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const unsigned x = a[k], y = a[(k + 1) & 3];
            unsigned r[12], m, one;
            S("eq", "f16x2.f16x2", r[0], x, y);
            S("ne", "f16x2.f16x2", r[1], x, y);
            S("lt", "f16x2.f16x2", r[2], x, y);
            S("leu", "f16x2.f16x2", r[3], x, y);
            S("gtu", "f16x2.f16x2", r[4], x, y);
            S("ge", "f16x2.f16x2", r[5], x, y);
            S("num", "f16x2.f16x2", r[6], x, y);
            S("nan", "f16x2.f16x2", r[7], x, y);
            S("lt", "u32.f16x2", r[8], x, y);
            S("geu", "u32.f16x2", r[9], y, x);
            S("neu", "u32.bf16x2", r[10], x, y);
            S("gt", "bf16x2.bf16x2", r[11], y, x);
            asm("{.reg .pred p; setp.lt.u32 p, %3, %4; set.gt.and.u32.f16x2 %0, %1, %2, p;}" : "=r"(m) : "r"(x), "r"(y), "r"(x), "r"(sum));
            asm("{.reg .pred p; setp.ge.u32 p, %3, %4; set.le.xor.f16x2.f16x2 %0, %1, %2, p;}" : "=r"(one) : "r"(x), "r"(y), "r"(y), "r"(sum));
            unsigned f;
            asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(f) : "r"(r[2]), "r"(x), "r"(r[5]));
            asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(f) : "r"(f), "r"(one), "r"(r[3]));
#pragma unroll
            for (int j = 0; j < 12; j++) sum = (sum << 3 | sum >> 29) + r[j];
            asm("add.rn.f16x2 %0, %1, %2;" : "=r"(a[k]) : "r"((x & m) | (y & ~m)), "r"((f & r[8]) ^ (r[1] & r[9])));
            sum ^= m + one;
        }
    }
#pragma unroll
    for (int k = 0; k < 4; k++) out[t + 2048 * k] = a[k];
    out[t + 2048 * 4] = sum;
}
