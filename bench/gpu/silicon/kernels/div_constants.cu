// Division by constants in 16, 32 and 64 bits: IMAD.HI.U32, IMAD.HI, IMAD.WIDE.U32.X, SHF.R.U32.HI, SHF.R.S32.HI, LEA.HI.SX32, LEA.HI.
// input: random
typedef unsigned long long u64;
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned a = in[t], b = in[t + 2048];
    int c = (int)in[t + 4096], d = (int)in[t + 6144];
    u64 e = (u64)a << 32 | b;
    long long f = (long long)((u64)(unsigned)c << 32 | (unsigned)d);
    for (int i = 0; i < 5; i++) {
        a = a / 7u * 31u + a % 7u + b / 641u;
        b = b % 1000003u + (b / 10u << 20) + (a % 3u);
        c = c / 13 * 77 + c % 13 - d / -9;
        d = d % 10007 - c / 4096 + (d / 3 << 9);
        e = e / 10000000019ull * 17 + e % 60u + a;
        f = f / 7 - f % 1234567 + (long long)(short)d / 5 + c / 1024;
        e ^= (u64)f / 0x123456789ull;
        a += (unsigned char)b / 11u;
        e += e << 17;
        f *= 0x5851f42d4c957f2dll;
    }
    out[t] = a;
    out[t + 2048] = b;
    out[t + 4096] = (unsigned)c;
    out[t + 6144] = (unsigned)d;
    out[t + 8192] = (unsigned)e;
    out[t + 10240] = (unsigned)(e >> 32);
    out[t + 12288] = (unsigned)f;
    out[t + 14336] = (unsigned)((u64)f >> 32);
}
