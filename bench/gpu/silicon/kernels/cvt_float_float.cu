// Conversions among half, bfloat16, tf32, float and double in every rounding, saturation and relu: F2F.F16.F32, F2F.F32.F64.RM, F2F.F64.F32, F2F.F16.F64, F2FP.F16.F32.PACK_AB.RZ, F2FP.BF16.F32.PACK_AB, F2FP.RELU, F2FP.TF32.F32.PACK_B, HADD2.F32, FRND.F16, FRND.F64.
// input: float
#define P(op, x, y) { unsigned r; asm(op " %0, %1, %2;" : "=r"(r) : "f"(x), "f"(y)); hash = (hash << 5 | hash >> 27) + r; }
#define H(op, c, v) { unsigned short r; asm(op " %0, %1;" : "=h"(r) : c(v)); hash = (hash << 7 | hash >> 25) + r; half = r; }
#define F(op, c, v) { float r; asm(op " %0, %1;" : "=f"(r) : c(v)); hash = (hash << 9 | hash >> 23) ^ __float_as_uint(r); f = r; }
#define D(op, c, v) { double r; asm(op " %0, %1;" : "=d"(r) : c(v)); d = d * 0.5 + r; }
#define U(op, v) { unsigned r; asm(op " %0, %1;" : "=r"(r) : "f"(v)); hash = hash * 5 + r; }
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned hash = 0;
    unsigned short half = 0;
    double d = 0.0;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const float x = __uint_as_float(in[t + 2048 * k]), y = __uint_as_float(in[t + 2048 * (k + 4)]) * 1e-5f;
        float f = x * y;
        const double w = (double)x * 1e30 * (double)y + 1e-9;
        P("cvt.rn.f16x2.f32", x, y) P("cvt.rz.f16x2.f32", y, x) P("cvt.rn.relu.f16x2.f32", x, y) P("cvt.rn.bf16x2.f32", x, y) P("cvt.rz.bf16x2.f32", y, x) P("cvt.rz.relu.bf16x2.f32", x, y)
        H("cvt.rn.f16.f32", "f", x) F("cvt.f32.f16", "h", half) H("cvt.rz.f16.f32", "f", y) D("cvt.f64.f16", "h", half) H("cvt.rp.f16.f32", "f", f) H("cvt.rm.f16.f64", "d", w) H("cvt.rn.f16.f64", "d", d) H("cvt.rn.bf16.f32", "f", y) F("cvt.f32.bf16", "h", half)
        H("cvt.rn.sat.f16.f32", "f", x) H("cvt.rni.f16.f16", "h", half) H("cvt.rmi.f16.f16", "h", (unsigned short)(in[t] >> 18 | 0x4000)) F("cvt.sat.f32.f16", "h", half) H("cvt.rn.relu.bf16.f32", "f", f)
        F("cvt.rn.f32.f64", "d", w) F("cvt.rm.f32.f64", "d", w) F("cvt.rp.f32.f64", "d", w) F("cvt.rz.f32.f64", "d", d) F("cvt.rn.sat.f32.f64", "d", w) F("cvt.rni.f32.f32", "f", x) F("cvt.rmi.f32.f32", "f", x) F("cvt.rpi.ftz.f32.f32", "f", x) F("cvt.rzi.f32.f32", "f", x) F("cvt.sat.f32.f32", "f", x)
        D("cvt.f64.f32", "f", f) D("cvt.rni.f64.f64", "d", w) D("cvt.rmi.f64.f64", "d", w) D("cvt.rpi.f64.f64", "d", d * 3.7) D("cvt.rzi.f64.f64", "d", w)
        U("cvt.rna.tf32.f32", x) U("cvt.rn.tf32.f32", y) U("cvt.rz.relu.tf32.f32", x)
        if (f < x && hash & 2) out[t + 2048 * (8 + k)] = hash;
    }
    out[t] = hash;
    ((double*)out)[t + 2048] = d;
    out[t + 2048] = half;
}
