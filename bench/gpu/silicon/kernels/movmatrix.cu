// Matrices transposed between registers, back to back and one after the other: MOVM.16.MT88
#include "matrix.cuh"
DEV u32 transpose(u32 x) {
    u32 r;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(r) : "r"(x));
    return r;
}
KERNEL kernel(PARAMS) {
    u32 x = get(in, n, 0), y = get(in, n, 1);
    Chains w(x);
    float d[4] = {};
    for (u32 r = 0; r < n >> 17; r++) {
        u32 a = transpose(x), b = transpose(y), c = transpose(a ^ r), e = transpose(to_f16(w.a));
        w.step(a + b);
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(to_f16(a)), "r"(e), "r"(to_f16(b)));
        w.step(c);
        if (a & 1) w.b ^= e;
        x = mix(x, transpose(transpose(w.c)));
        y = mix(y, bits(d[r & 1 ? 0 : 2]));
    }
    out[gid()] = w.end() ^ fold(d);
}
