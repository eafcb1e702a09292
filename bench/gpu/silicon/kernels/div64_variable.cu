// 64-bit division with its called slow path and 32-bit fast path: I2F.U64.RP, MUFU.RCP, F2I.U64.TRUNC, CALL.REL.NOINC, RET.REL.NODEC, ISETP.EX, IMAD.WIDE.U32.
// input: random
typedef unsigned long long u64;
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    u64 a[4], b[4];
#pragma unroll
    for (int k = 0; k < 4; k++) {
        a[k] = (u64)in[t + 2048 * k] << 32 | in[t + 2048 * (k + 4)];
        b[k] = ((u64)in[t + 2048 * (k + 8)] << 32 | in[t + 2048 * (k + 12)]) >> (in[t + 2048 * (k + 16)] & 63);
    }
    for (int i = 0; i < 3; i++) {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const u64 d = b[k] | 1;
            const u64 q = a[k] / d, r = a[k] % d;
            const long long s = (long long)a[k] / ((long long)b[(k + 1) & 3] | 3), m = (long long)a[k] % ((long long)b[(k + 2) & 3] | 5);
            a[k] = q * 0x9e3779b97f4a7c15ull + r + (u64)s;
            b[k] = (r ^ (u64)m) >> (a[k] & 31);
        }
    }
#pragma unroll
    for (int k = 0; k < 4; k++) {
        out[t + 2048 * (2 * k)] = (unsigned)a[k];
        out[t + 2048 * (2 * k + 1)] = (unsigned)(a[k] >> 32);
        out[t + 2048 * (2 * k + 8)] = (unsigned)b[k];
        out[t + 2048 * (2 * k + 9)] = (unsigned)(b[k] >> 32);
    }
}
