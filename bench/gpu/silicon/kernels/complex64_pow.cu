// Complex float power, exp, log, square root, division and hyperbolic tangent written out: MUFU.EX2, MUFU.RSQ, MUFU.RCP, FCHK, CALL.REL.NOINC, sincosf with STL and LDL, atan2f, PLOP3.LUT, BSSY, BSYNC.
// input: float
struct C { float x, y; };
__device__ __forceinline__ C mul(C a, C b) { return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; }
__device__ __forceinline__ C quot(C a, C b) {
    if (fabsf(b.x) >= fabsf(b.y)) {
        const float r = b.y / b.x, d = b.x + b.y * r;
        return {(a.x + a.y * r) / d, (a.y - a.x * r) / d};
    }
    const float r = b.x / b.y, d = b.y + b.x * r;
    return {(a.x * r + a.y) / d, (a.y * r - a.x) / d};
}
__device__ __forceinline__ C expc(C a) {
    const float e = expf(a.x);
    if (isinf(e) && a.y == 0.0f) return {e, 0.0f};
    float s, c;
    sincosf(a.y, &s, &c);
    return {e * c, e * s};
}
__device__ __forceinline__ C logc(C a) { return {logf(hypotf(a.x, a.y)), atan2f(a.y, a.x)}; }
__device__ __forceinline__ C sqrtc(C a) {
    const float r = sqrtf((hypotf(a.x, a.y) + fabsf(a.x)) * 0.5f), o = fabsf(a.y) / (2.0f * r);
    if (a.x >= 0.0f) return {r, copysignf(o, a.y)};
    return {o, copysignf(r, a.y)};
}
__device__ __forceinline__ C tanhc(C a) {
    if (fabsf(a.x) > 10.0f) return {copysignf(1.0f, a.x), 0.0f};
    const float s = sinhf(a.x), b = 1.0f + tanf(a.y) * tanf(a.y), r = sqrtf(1.0f + s * s), d = 1.0f + b * s * s;
    return {b * r * s / d, tanf(a.y) / d};
}

extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    C a = {__uint_as_float(in[t]), __uint_as_float(in[t + 2048])}, b = {__uint_as_float(in[t + 4096]), __uint_as_float(in[t + 6144])};
    for (int i = 0; i < 2; i++) {
        const C p = expc(mul(b, logc(a))), q = quot(p, b), r = sqrtc(q), s = tanhc(r);
        out[t + 2048 * (4 * i + 4)] = __float_as_uint(p.x);
        out[t + 2048 * (4 * i + 5)] = __float_as_uint(p.y);
        out[t + 2048 * (4 * i + 6)] = __float_as_uint(q.x);
        out[t + 2048 * (4 * i + 7)] = __float_as_uint(q.y);
        a = s;
        b = r;
    }
    out[t] = __float_as_uint(a.x);
    out[t + 2048] = __float_as_uint(a.y);
    out[t + 4096] = __float_as_uint(b.x);
    out[t + 6144] = __float_as_uint(b.y);
}
