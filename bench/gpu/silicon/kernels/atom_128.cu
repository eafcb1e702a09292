// Compare and swap and exchange of 128 bits, in global and shared memory: ATOMG.E.CAS.128 ATOMG.E.EXCH.128 ATOMS.CAS.128 ATOMS.EXCH.128
#include "rare.cuh"
#define CAS(SPACE, A, O0, O1, C0, C1, V0, V1) \
    asm volatile("{ .reg .b128 o, c, v; mov.b128 c, {%3, %4}; mov.b128 v, {%5, %6}; atom.relaxed.gpu." SPACE ".cas.b128 o, [%2], c, v; mov.b128 {%0, %1}, o; }" \
                 : "=l"(O0), "=l"(O1) : "l"(A), "l"(C0), "l"(C1), "l"(V0), "l"(V1) : "memory")
#define EXCH(SPACE, A, O0, O1, V0, V1) \
    asm volatile("{ .reg .b128 o, v; mov.b128 v, {%3, %4}; atom.relaxed.gpu." SPACE ".exch.b128 o, [%2], v; mov.b128 {%0, %1}, o; }" : "=l"(O0), "=l"(O1) : "l"(A), "l"(V0), "l"(V1) : "memory")
KERNEL kernel(PARAMS) {
    __shared__ __align__(16) u64 s[256][2];
    u32 x = get(in, n, 0), y = get(in, n, 1);
    Chains w(x);
    u64 *g = (u64 *)(out + 65536) + gid() * 2;
    u64 *common = (u64 *)(out + 131072) + (gid() & 7) * 2;
    s[tid()][0] = x;
    s[tid()][1] = y;
    u64 local = (u64)shared_address(s[tid()]), a = x, b = y, c, d;
    for (u32 r = 0; r < 3; r++) {
        u64 v0 = ((u64)w.a << 32) | x, v1 = ((u64)w.b << 32) | y;
        EXCH("global", global_address(g), c, d, v0, v1);
        w.step((u32)c ^ (u32)(d >> 32));
        CAS("global", global_address(g), c, d, x & 1 ? v0 : 0ull, v1, v1, v0 ^ 7);
        w.step((u32)(c >> 32) + (u32)d);
        CAS("shared", local, c, d, a, y & 1 ? b : 1ull, v0, v1);
        if (c == a && d == b) w.step(c + 1);
        a = c == a && d == (y & 1 ? b : 1ull) ? v0 : c;
        b = a == v0 ? v1 : d;
        EXCH("shared", local, c, d, a + 1, b ^ 3);
        w.step((u32)(c ^ (d >> 32)));
        a = a + 1;
        b = b ^ 3;
        x = mix(x, w.c);
        y = mix(y, w.d);
    }
    // Many threads at one place.
    u64 e = 0, f = 0;
    do {
        c = e;
        d = f;
        CAS("global", global_address(common), e, f, c, d, c + x, d ^ (((u64)y << 32) | x));
    } while (c != e || d != f);
    out[gid()] = w.end() ^ (u32)(s[tid()][0] + s[tid()][1]);
}
