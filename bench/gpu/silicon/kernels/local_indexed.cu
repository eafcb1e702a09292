// Local arrays at indices known only at run time, in every width, written and read close together: STL, STL.U8, STL.U16, STL.64, STL.128, LDL, LDL.U8, LDL.S16, LDL.64, LDL.128, aliasing pairs.
// input: random
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned a[32];
    __align__(16) unsigned char bytes[64];
    short words[32];
    uint4 quads[8];
    double reals[8];
    unsigned x = in[t];
    for (int k = 0; k < 32; k++) {
        a[k] = in[t + 2048 * (k & 15)] + k;
        words[k] = (short)(a[k] >> 3);
        bytes[k] = (unsigned char)a[k];
        bytes[k + 32] = (unsigned char)(a[k] >> 8);
    }
    for (int k = 0; k < 8; k++) {
        quads[k] = make_uint4(a[k], a[k + 8], a[k + 16], a[k + 24]);
        reals[k] = (double)a[k];
    }
    unsigned sum = 0;
    for (int i = 0; i < 16; i++) {
        const unsigned p = x & 31, q = x >> 5 & 31;
        a[p] += x;
        const unsigned v = a[q];
        bytes[x >> 10 & 63] ^= (unsigned char)v;
        words[q] = (short)(words[p] + (short)bytes[v & 63]);
        const uint4 u = quads[v >> 7 & 7];
        quads[x >> 16 & 7] = make_uint4(u.y, u.z + v, u.w, u.x ^ x);
        reals[p & 7] = reals[q & 7] * 0.5 + (double)words[q];
        *(unsigned short*)&bytes[(v >> 3 & 31) * 2] += 3;
        sum = sum * 9 + u.x + (unsigned)(int)words[p] + bytes[p];
        x = x * 0x01000193u + v + (unsigned)(int)reals[q & 7];
    }
    for (int k = 0; k < 32; k++) sum = sum * 31 + a[k] + bytes[k] + (unsigned)words[k];
    for (int k = 0; k < 8; k++) sum = sum * 31 + quads[k].x + quads[k].w + (unsigned)(int)(reals[k] * 1e-6);
    out[t] = sum;
    out[t + 2048] = x;
}
