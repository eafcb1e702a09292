// Copies, matrices from shared memory, products, matrices back: a small pipeline: LDGSTS LDSM HMMA.16816.F32 STSM MOVM
#include "matrix.cuh"
KERNEL kernel(PARAMS) {
    __shared__ __align__(16) u32 s[2][8][128];
    u32 x = get(in, n, 0);
    Chains w(x);
    float d[8] = {};
    const u32 *from = in + blockIdx.x * 16384 + warp() * 128 + lane() * 4;
    copy16(&s[0][warp()][lane() * 4], from);
    copy_commit();
    for (u32 r = 0; r < n >> 17; r++) {
        if (r + 1 < n >> 17) copy16(&s[(r + 1) & 1][warp()][lane() * 4], from + (r + 1) * 1024);
        copy_commit();
        copy_wait<1>();
        __syncwarp();
        u32 *mine = s[r & 1][warp()], p = shared_address(mine + lane() * 4), a[4];
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(p) : "memory");
        u32 b;
        asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(b) : "r"(a[3]));
#pragma unroll
        for (int k = 0; k < 4; k++) a[k] = to_f16(a[k]);
        b = to_f16(b);
#pragma unroll
        for (int k = 0; k < 8; k += 4)
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                         : "+f"(d[k]), "+f"(d[k + 1]), "+f"(d[k + 2]), "+f"(d[k + 3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(k ? b : a[1]), "r"(k ? a[0] : b));
        w.step(bits(d[0]) ^ bits(d[7]));
        __syncwarp();
        asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1,%2};" ::"r"(p), "r"(w.a), "r"(w.b) : "memory");
        __syncwarp();
        w.step(mine[lane() ^ 5]);
        __syncwarp();
    }
    out[gid()] = w.end() ^ fold(d);
}
