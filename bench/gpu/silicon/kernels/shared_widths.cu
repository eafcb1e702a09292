// Shared memory of every width at addresses from data, with bank conflicts, each thread its own 64 bytes: LDS.U8, LDS.U16, LDS, LDS.64, LDS.128, STS.U8, STS.U16, STS.64, STS.128, PRMT.
// launch: grid=8 block=256 smem=0
// input: random
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    __shared__ __align__(16) unsigned s[256 * 16];
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x, own = threadIdx.x * 16;
#pragma unroll
    for (int k = 0; k < 4; k++) ((uint4*)(s + own))[k] = make_uint4(in[t + 2048 * (4 * k)], in[t + 2048 * (4 * k + 1)], in[t + 2048 * (4 * k + 2)], in[t + 2048 * (4 * k + 3)]);
    unsigned x = in[t], sum = 0;
    for (int i = 0; i < 12; i++) {
        unsigned char* b = (unsigned char*)(s + own);
        b[x & 63] = (unsigned char)(x >> 8);
        const int u8 = b[x >> 6 & 63], s8 = ((signed char*)b)[x >> 12 & 63];
        ((unsigned short*)b)[x >> 18 & 31] = (unsigned short)(u8 * 77 + i);
        const int u16 = ((unsigned short*)b)[x >> 23 & 31], s16 = ((short*)b)[sum & 31];
        s[own + (sum >> 5 & 15)] ^= x;
        const unsigned w = s[own + (sum >> 9 & 15)];
        const uint2 d = ((uint2*)b)[w & 7];
        ((uint2*)b)[w >> 3 & 7] = make_uint2(d.y + w, d.x ^ sum);
        const uint4 q = ((uint4*)b)[w >> 6 & 3];
        if (q.x & 1) ((uint4*)b)[w >> 8 & 3] = make_uint4(q.w, q.x + 1, q.y ^ w, q.z);
        sum = sum * 31 + (unsigned)(u8 - s8 * 3 + u16 * 5 - s16 * 7) + (d.x ^ q.y) + q.w;
        x = x * 0x9e3779b1u + w + sum;
    }
#pragma unroll
    for (int k = 0; k < 16; k++) sum = sum * 31 + s[own + k];
    out[t] = sum;
    out[t + 2048] = x;
}
