// __int128: product, shifts by a variable, comparison, division by a loop: IMAD.WIDE.U32.X, IADD3.X, SHF.L.U64.HI, SHF.R.S64, ISETP.GT.AND.EX, R2P, FLO.U32, MUFU.RCP.
// input: random
typedef unsigned __int128 u128;
typedef __int128 s128;

__device__ __forceinline__ u128 four(const unsigned* in, unsigned t, int k) {
    return ((u128)in[t + 2048 * k] << 96) | ((u128)in[t + 2048 * (k + 1)] << 64) | ((u128)in[t + 2048 * (k + 2)] << 32) | in[t + 2048 * (k + 3)];
}

extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    u128 a = four(in, t, 0), b = four(in, t, 4), c = four(in, t, 8);
    s128 d = (s128)four(in, t, 12);
    for (int i = 0; i < 6; i++) {
        a = a * b + c;
        b ^= a >> (int)(c & 127);
        c += b << (int)(a & 127);
        d -= (s128)a >> (int)(b & 127);
        if ((s128)a < d) c = ~c;
        if (a > b) d += (s128)c;
    }
    const u128 q = a / ((b >> 40) | 1), r = a % ((c >> 70) | 3);
    const s128 sq = d / ((s128)(b >> 90) + 5);
    const u128 all[7] = {a, b, c, (u128)d, q, r, (u128)sq};
#pragma unroll
    for (int k = 0; k < 7; k++)
#pragma unroll
        for (int j = 0; j < 4; j++) out[t + 2048 * (4 * k + j)] = (unsigned)(all[k] >> (32 * j));
}
