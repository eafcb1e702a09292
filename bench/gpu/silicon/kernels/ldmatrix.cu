// Matrices from shared memory, one, two and four, as they are and transposed: LDSM.16.M88 LDSM.16.M88.2 LDSM.16.M88.4 LDSM.16.MT88
#include "matrix.cuh"
#define LOAD1(T) asm volatile("ldmatrix.sync.aligned.m8n8.x1" T ".shared.b16 {%0}, [%1];" : "=r"(a) : "r"(p) : "memory")
#define LOAD2(T) asm volatile("ldmatrix.sync.aligned.m8n8.x2" T ".shared.b16 {%0,%1}, [%2];" : "=r"(a), "=r"(b) : "r"(p) : "memory")
#define LOAD4(T) asm volatile("ldmatrix.sync.aligned.m8n8.x4" T ".shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(p) : "memory")
KERNEL kernel(PARAMS) {
    __shared__ __align__(128) u32 s[8][512];
    u32 x = get(in, n, 0);
    Chains w(x);
    u32 *mine = s[warp()];
#pragma unroll
    for (int k = 0; k < 16; k++) mine[k * 32 + lane()] = get(in, n, k);
    __syncwarp();
    for (u32 r = 0; r < n >> 18; r++) {
        u32 a, b, c, d;
        u32 p = shared_address(mine + (((x >> 3) + lane()) & 127) * 4);  // any row of 16 bytes
        LOAD4("");
        w.step(a ^ b);
        w.step(c + d);
        p = shared_address(mine + ((w.a >> 5) & 127) * 4);
        LOAD4(".trans");
        w.step(a + c);
        p ^= (b & 7) << 4;
        LOAD2("");
        w.step(a ^ b ^ d);
        LOAD1("");
        LOAD1(".trans");  // the last of two
        w.step(a);
        LOAD2(".trans");
        w.step(a + b);
        x = mix(x, w.c);
        __syncwarp();
        mine[(x & 15) * 32 + lane()] = w.b;
        __syncwarp();
    }
    out[gid()] = w.end();
}
