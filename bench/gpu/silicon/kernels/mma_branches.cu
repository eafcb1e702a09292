// Products in branches and loops of a whole warp, operands from shuffles, sums under predicates: HMMA.16816.F32 IMMA.16832.S8.S8 SHFL VOTE
#include "matrix.cuh"
KERNEL kernel(PARAMS) {
    u32 x = get(in, n, 0), y = get(in, n, 1);
    Chains w(x);
    float d[4] = {};
    int e[4] = {};
    for (u32 r = 0; r < n >> 17; r++) {
        u32 a[4] = {x, y, x ^ y, x + y};
        u32 b0 = __shfl_xor_sync(ALL, x, 1 + r), b1 = __shfl_sync(ALL, y, x & 31);
        if (__any_sync(ALL, (x & 31) == r)) {
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                         : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(to_f16(a[0])), "r"(to_f16(a[1])), "r"(to_f16(a[2])), "r"(to_f16(a[3])), "r"(to_f16(b0)), "r"(to_f16(b1)));
            w.step(bits(d[0]));
        } else {
            asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                         : "+r"(e[0]), "+r"(e[1]), "+r"(e[2]), "+r"(e[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
            if (e[0] > e[1]) w.a ^= e[2];
        }
        u32 k = __reduce_add_sync(ALL, (u32)e[3]) & 3;
        for (u32 j = 0; j < k; j++)
            asm volatile("mma.sync.aligned.m16n8k16.row.col.s32.u8.s8.s32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                         : "+r"(e[0]), "+r"(e[1]), "+r"(e[2]), "+r"(e[3]) : "r"(x + j), "r"(y), "r"(b0));
        w.step(e[1]);
        x = mix(x, w.a);
        y = mix(y, w.b);
    }
    out[gid()] = w.end() ^ fold(d) ^ fold(e);
}
