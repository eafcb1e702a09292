// Float to integers of every width and rounding, saturating by nature, on any bit pattern: F2I.NTZ, F2I.FLOOR.NTZ, F2I.CEIL.NTZ, F2I.TRUNC.NTZ, F2I.U32, F2I.S64, F2I.U64, F2I.S8, F2I.U8, F2I.S16, F2I.U16, FTZ ones.
// input: random
#define C(op, ty, c, d) { ty r; asm(op " %0, %1;" : c(r) : "f"(x[k])); d }
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    float x[4];
    unsigned hash = 0;
    unsigned long long wide = 0;
#pragma unroll
    for (int k = 0; k < 4; k++) x[k] = __uint_as_float(k < 2 ? in[t + 2048 * k] : (in[t + 2048 * k] & 0x8fffffffu) | 0x40000000u);
    for (int i = 0; i < 3; i++) {
#pragma unroll
        for (int k = 0; k < 4; k++) {
#define H hash = (hash << 5 | hash >> 27) + (unsigned)r;
#define W wide = wide * 31 + (unsigned long long)r;
            C("cvt.rni.s32.f32", int, "=r", H) C("cvt.rmi.s32.f32", int, "=r", H) C("cvt.rpi.s32.f32", int, "=r", H) C("cvt.rzi.s32.f32", int, "=r", H)
            C("cvt.rni.u32.f32", unsigned, "=r", H) C("cvt.rzi.ftz.u32.f32", unsigned, "=r", H) C("cvt.rpi.u32.f32", unsigned, "=r", H)
            C("cvt.rni.s64.f32", long long, "=l", W) C("cvt.rmi.u64.f32", unsigned long long, "=l", W) C("cvt.rzi.s64.f32", long long, "=l", W) C("cvt.rpi.ftz.u64.f32", unsigned long long, "=l", W)
            C("cvt.rni.s16.f32", short, "=h", H) C("cvt.rzi.u16.f32", unsigned short, "=h", H) C("cvt.rmi.s8.f32", int, "=r", H) C("cvt.rpi.u8.f32", unsigned, "=r", H) C("cvt.rzi.sat.s8.f32", int, "=r", H) C("cvt.rni.sat.u8.f32", int, "=r", H)
            if ((int)hash > (int)wide) out[t + 2048 * (8 + k)] = hash;
            x[k] = (k & 1 ? x[k] * 0.37f : x[k] + (float)(hash & 1023) * 0.5f);
        }
    }
    out[t] = hash;
    out[t + 2048] = (unsigned)wide;
    out[t + 4096] = (unsigned)(wide >> 32);
    out[t + 6144] = __float_as_uint(x[0]) ^ __float_as_uint(x[3]);
}
