// A substitution cipher whose byte table is in constant memory, indexed by data: LDC.U8 with a register index, LDC, PRMT, SHF, LOP3.
// input: random
#define R4(x) (x), (x) ^ 0x5b, (x) ^ 0xa7, (x) ^ 0x13
#define R16(x) R4(x), R4((x) ^ 0x2c), R4((x) ^ 0x71), R4((x) ^ 0x9e)
__constant__ unsigned char box[256] = {R16(0x63), R16(0x7c), R16(0x1d), R16(0xe0), R16(0xca), R16(0x35), R16(0x47), R16(0x08), R16(0xb5), R16(0xf1), R16(0x2a), R16(0x59), R16(0x86), R16(0xd3), R16(0x6e), R16(0x90)};
__constant__ unsigned short pairs[64] = {R16(0x163), R16(0x57c), R16(0x91d), R16(0xde0)};
__constant__ signed char steps[64] = {R16(0x13), R16(0x2c), R16(0x4d), R16(0x60)};

extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned v[4];
#pragma unroll
    for (int k = 0; k < 4; k++) v[k] = in[t + 2048 * k];
    for (int round = 0; round < 5; round++) {
        unsigned u[4];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            u[k] = box[v[k] & 255] | (unsigned)box[v[(k + 1) & 3] >> 8 & 255] << 8 | (unsigned)box[v[(k + 2) & 3] >> 16 & 255] << 16 | (unsigned)box[v[(k + 3) & 3] >> 24] << 24;
            u[k] ^= __funnelshift_l(u[k], u[k], 8) ^ pairs[u[k] & 63];
            u[k] += (unsigned)(int)steps[u[k] >> 26];
        }
#pragma unroll
        for (int k = 0; k < 4; k++) v[k] = u[k] ^ __byte_perm(u[(k + 1) & 3], u[k], 0x2103 + round);
    }
#pragma unroll
    for (int k = 0; k < 4; k++) out[t + 2048 * k] = v[k];
}
