// Addresses computed by hand from 64-bit pieces and loads at them: LEA, LEA.HI, LEA.HI.X, IMAD.WIDE, IADD3.X, UIADD3.X, LDG.E.U16, LDG.E.64.
// input: random
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    const char* base = (const char*)in;
    long long at = (long long)t * 4;
    int i = (int)in[t] % 1024;
    unsigned sum = 0;
    unsigned long long wide = (unsigned long long)in[t + 2048] << 30 ^ in[t + 4096];
    for (int round = 0; round < 10; round++) {
        const int j = i + 2048;
        const unsigned x = *(const unsigned*)(base + at + ((long long)j << 2));
        const unsigned y = ((const unsigned short*)(in + 65536))[(long long)i];
        const unsigned z = in[(long long)i * 16 + 131072 + (at >> 3 & 63)];
        const uint2 v = ((const uint2*)in)[(unsigned)(i + 1024) + (unsigned long long)(t & 7)];
        wide = (wide << 4) + (wide >> 11) + x + ((unsigned long long)y << 35);
        sum = sum * 9 + ((x >> 5) + y) + (z >> 29) + (v.x << 3) + (v.y >> 7) + (unsigned)(wide >> 27);
        at = (at + ((long long)(int)x >> 20 << 3)) & 0xffffc;
        i = (int)(sum >> 7) % 1024;
    }
    out[t] = sum;
    out[t + 2048] = (unsigned)wide;
    out[t + 4096] = (unsigned)(wide >> 32);
    out[t + 6144] = (unsigned)at;
}
