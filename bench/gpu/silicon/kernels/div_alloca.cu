// Stack space of a size known at run time, and arrays indexed by data: LDL STL
#include "rare.cuh"
KERNEL kernel(PARAMS) {
    u32 x = get(in, n, 0), y = get(in, n, 1);
    Chains w(x);
    u32 size = 8 + (n >> 18) * 2;  // 16
    u32 *dynamic = (u32 *)__builtin_alloca(size * sizeof(u32));
    u32 fixed[16];
#pragma unroll
    for (int k = 0; k < 16; k++) fixed[k] = rot(y, k);
    for (u32 k = 0; k < size; k++) dynamic[k] = x + k * y;
    for (u32 r = 0; r < 24; r++) {
        u32 a = dynamic[(w.a >> 3) & 15], b = fixed[(w.b >> 4) & 15];
        w.step(a);
        dynamic[(a ^ r) & 15] += b;
        fixed[b & 15] ^= a;
        w.step(fixed[r & 15]);
    }
    u32 s = 0;
    for (u32 k = 0; k < size; k++) s = mix(s, dynamic[k] ^ fixed[k]);
    out[gid()] = w.end() ^ s;
}
