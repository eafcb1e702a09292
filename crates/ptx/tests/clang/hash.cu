// Integers: rotations, wide products, counts of bits, division.
#include "device.h"

DEVICE u32 rotate(u32 value, int by) { return value << by | value >> (32 - by); }

// Rounds of a stream cipher on 16 words: much to do side by side.
GLOBAL void rounds(const uint4 *in, uint4 *out) {
    u32 s[16];
    int at = index() * 4;
#pragma unroll
    for (int i = 0; i < 16; i++)
        s[i] = in[at + i / 4][i % 4];
#pragma unroll
    for (int round = 0; round < 3; round++)
#pragma unroll
        for (int i = 0; i < 8; i++) {
            int turn = i < 4 ? 0 : 1;
            u32 &a = s[i % 4], &b = s[4 + (i + turn) % 4], &c = s[8 + (i + 2 * turn) % 4], &d = s[12 + (i + 3 * turn) % 4];
            a += b; d = rotate(d ^ a, 16);
            c += d; b = rotate(b ^ c, 12);
            a += b; d = rotate(d ^ a, 8);
            c += d; b = rotate(b ^ c, 7);
        }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        uint4 word = {s[4 * i], s[4 * i + 1], s[4 * i + 2], s[4 * i + 3]};
        out[at + i] = word + in[at + i];
    }
}

GLOBAL void hash64(int n, const u64 *in, u64 *out, u32 modulus) {
    for (int i = index(); i < n; i += blocks() * threads()) {
        u64 h = in[i];
        h ^= h >> 33;
        h *= 0xff51afd7ed558ccdull;
        h ^= h >> 33;
        h *= 0xc4ceb9fe1a85ec53ull;
        h ^= h >> 33;
        u32 folded = (u32)h ^ (u32)(h >> 32);
        out[i] = (u64)(folded % modulus) << 32 | (u32)(__builtin_popcountll(h) + __builtin_clz(folded | 1));
    }
}
