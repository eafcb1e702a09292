// A switch over many cases, with falls through and leaves: BSSY BSYNC CALL.REL.NOINC
#include "rare.cuh"
KERNEL kernel(PARAMS) {
    u32 x = get(in, n, 0);
    Chains w(x);
    for (u32 r = 0; r < n >> 16; r++) {
        switch ((w.a >> 5) & 15) {
        case 0: w.a += x; w.step(1); break;
        case 1: w.b ^= w.a * 7; w.c += in[w.b >> 12]; break;
        case 2: w.c = __brev(w.c) + r; break;
        case 3: w.d = w.d / ((w.a & 7) + 1); w.a ^= w.d; break;
        case 4: w.f = w.f * 0.5f + 3.0f; w.a += 0x1234; break;
        case 5: w.a = __popc(w.b) * w.c; // falls through
        case 6: w.b = __clz(w.c) + w.d; break;
        case 7: w.step(in[w.d >> 12]); break;
        case 8: w.a = rot(w.a, w.b & 31); w.b -= 3; break;
        case 9: w.c = __umulhi(w.c, w.d); w.d ^= 0xdeadbeef; break;
        case 10: w.f = sqrtf(w.f); w.c += __float_as_uint(w.f); break;
        case 11: w.a = __byte_perm(w.a, w.b, 0x2143); break;
        case 12: w.b = __vadd4(w.b, w.c); w.step(w.b); break;
        case 13: w.d = max(w.d, w.a) - min(w.b, w.c); break;
        case 14: if (w.b & 1) break; w.step(r); break;
        default: w.a = w.a * 0x01000193u ^ r;
        }
        w.a = mix(w.a, r);
        if ((r & 7) == 7) w.b += __shfl_xor_sync(ALL, w.a, 9);
    }
    out[gid()] = w.end();
}
