// Global atomics on each thread's own cells with the old values used at once: ATOMG.E.ADD, .MIN, .MAX, .AND, .OR, .XOR, .EXCH, .CAS, .INC, .DEC in u32, s32, u64, s64.
// input: random
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned* c = out + 65536 + t;
    unsigned long long* w = (unsigned long long*)(out + 262144) + t;
    unsigned x = in[t], sum = 0;
    unsigned long long wide = 0;
    for (int i = 0; i < 6; i++) {
        const unsigned v = in[t + 2048 * (i + 1)], z = v * 0x85ebca6bu;
        const unsigned a = atomicAdd(c, v), b = atomicMin(c + 2048, v ^ x), d = atomicMax(c + 4096, z), e = atomicAnd(c + 6144, v | z), f = atomicOr(c + 8192, v & x), g = atomicXor(c + 10240, z), h = atomicExch(c + 12288, x), j = atomicInc(c + 14336, v & 7), k = atomicDec(c + 16384, z & 7);
        const int m = atomicMin((int*)(c + 18432), (int)v), o = atomicMax((int*)(c + 20480), (int)z), p = atomicSub((int*)(c + 22528), (int)x);
        const unsigned q = atomicCAS(c, a + v, z);
        const unsigned long long y = (unsigned long long)v << 32 | z;
        const unsigned long long r = atomicAdd(w, y), s = atomicMin(w + 2048, y), u = atomicMax(w + 4096, y ^ x), aa = atomicExch(w + 6144, y), bb = atomicXor(w + 8192, y), cc = atomicCAS(w, r + y, y * 3), dd = atomicAnd(w + 10240, ~y), ee = atomicOr(w + 12288, y);
        const long long ff = atomicMin((long long*)(w + 14336), (long long)y), gg = atomicMax((long long*)(w + 16384), (long long)y);
        sum = sum * 31 + a + b * 3 + d + (e ^ f) + g * 5 + h + j * 7 + k + (unsigned)(m ^ o) + (unsigned)p + q;
        wide = wide * 31 + r + s + (u ^ aa) + bb * 3 + cc + dd + ee + (unsigned long long)(ff + gg);
        x = x * 5 + sum + (q == a + v ? 17 : 0);
    }
    out[t] = sum;
    out[t + 2048] = x;
    out[t + 4096] = (unsigned)wide;
    out[t + 6144] = (unsigned)(wide >> 32);
}
