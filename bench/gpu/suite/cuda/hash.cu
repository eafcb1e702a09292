// SHA-256 compressions chained per thread; 16 rounds in a row, the message schedule in registers. A digest below the
// threshold is marked, as a search for a nonce would.
typedef unsigned u32;

__constant__ u32 ROUND[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01,
    0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc,
    0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08,
    0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

__device__ inline u32 turned(u32 x, int by) { return __funnelshift_r(x, x, by); }

extern "C" __global__ void __launch_bounds__(256)
hash(const uint4* __restrict__ blocks, uint4* __restrict__ digests, u32* __restrict__ marks, int count, int chain,
     u32 threshold) {
    const int own = blockIdx.x * 256 + threadIdx.x;
    if (own >= count) return;
    u32 state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    u32 hits = 0;
    for (int link = 0; link < chain; ++link) {
        u32 w[16];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const uint4 part = blocks[(long long)i * count + own];
            w[4 * i] = part.x + link, w[4 * i + 1] = part.y, w[4 * i + 2] = part.z, w[4 * i + 3] = part.w;
        }
        u32 a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f = state[5], g = state[6], h = state[7];
        for (int group = 0; group < 64; group += 16) {
#pragma unroll
            for (int i = 0; i < 16; ++i) {
                const u32 t1 = h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & f) ^ (~e & g)) + ROUND[group + i] + w[i];
                const u32 t2 = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
                h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
            }
#pragma unroll
            for (int i = 0; i < 16; ++i) {
                const u32 x = w[(i + 1) % 16], y = w[(i + 14) % 16];
                w[i] += (turned(x, 7) ^ turned(x, 18) ^ (x >> 3)) + w[(i + 9) % 16] + (turned(y, 17) ^ turned(y, 19) ^ (y >> 10));
            }
        }
        state[0] += a, state[1] += b, state[2] += c, state[3] += d, state[4] += e, state[5] += f, state[6] += g, state[7] += h;
        if (state[0] < threshold) hits += 1u << (link & 31);
    }
    digests[own] = make_uint4(state[0], state[1], state[2], state[3]);
    digests[(long long)count + own] = make_uint4(state[4], state[5], state[6], state[7]);
    marks[own] = hits;
}
