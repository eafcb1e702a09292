// Bytes of constant memory at places that are the same for all threads: ULDC.U8 ULDC.S8
#include "rare.cuh"
__constant__ unsigned char plain[64] = {3, 250, 17, 99, 128, 64, 255, 1, 9, 200, 31, 77, 12, 180, 5, 240};
__constant__ signed char with_sign[64] = {-3, 25, -17, 99, -128, 64, 127, -1, 9, -20, 31, -77, 12, 18, -5, 24};
KERNEL kernel(PARAMS) {
    u32 x = get(in, n, 0);
    Chains w(x);
    u32 sum = plain[5] * 3 + with_sign[6];
    for (u32 r = 0; r < n >> 17; r++) {
        // At fixed places, and as conditions that all threads share.
        if (plain[1] > with_sign[2] + (int)(n & 7)) w.step(x + plain[4]);
        sum += plain[9] * (r + with_sign[7]);
        w.step(sum ^ (with_sign[0] & x));
        if ((plain[3] ^ with_sign[11]) & 1) sum ^= plain[2] << (r & 7);
        x = mix(x, w.a);
    }
    out[gid()] = w.end() + sum;
}
