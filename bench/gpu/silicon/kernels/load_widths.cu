// Global loads and stores of every width with the values used at once: LDG.E.U8, LDG.E.S8, LDG.E.U16, LDG.E, LDG.E.64, LDG.E.128, STG.E.U8, STG.E.U16, STG.E.64, STG.E.128, LDG.E.CONSTANT.
// input: random
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned at = t * 8;
    int sum = 0;
    unsigned char* bytes = (unsigned char*)(out + 262144);
    for (int i = 0; i < 6; i++) {
        const unsigned char* b = (const unsigned char*)(in + at);
        const int u8 = b[1], s8 = ((const signed char*)b)[2], u16 = ((const unsigned short*)b)[2], s16 = ((const short*)b)[3];
        const uint2 d = ((const uint2*)b)[1];
        const uint4 q = ((const uint4*)b)[1];
        const unsigned nc8 = __ldg(b + 5), nc = __ldg(in + at + 3);
        const short4 nq = __ldg((const short4*)(in + at + 4));
        sum = sum * 5 + u8 * 3 + s8 * 7 - u16 + s16 * 11 + (int)(d.x ^ d.y) + (int)(q.x + q.y * 3) + (int)(q.z ^ q.w) + (int)(nc8 * nc) + nq.x * nq.w - nq.y + nq.z;
        bytes[t * 64 + i] = (unsigned char)sum;
        bytes[t * 64 + 6 + i * 2] = (unsigned char)s8;
        ((unsigned short*)bytes)[t * 32 + 12 + i] = (unsigned short)(sum >> 8);
        ((uint2*)out)[t + 2048 * i] = make_uint2((unsigned)sum, q.w);
        ((uint4*)out)[t + 2048 * (6 + i)] = make_uint4(d.y, (unsigned)sum >> 3, (unsigned)s16, (unsigned)u8);
        if (sum & 1) bytes[t * 64 + 48 + i] = (unsigned char)nq.y;
        at = ((unsigned)sum & 0xffff) * 8;
    }
    ((uint2*)out)[t + 2048 * 100] = make_uint2(at, (unsigned)sum);
}
