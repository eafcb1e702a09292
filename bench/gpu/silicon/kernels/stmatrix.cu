// Matrices into shared memory, one, two and four, as they are and transposed: STSM.16.M88 STSM.16.M88.2 STSM.16.M88.4 STSM.16.MT88
#include "matrix.cuh"
#define STORE1(T) asm volatile("stmatrix.sync.aligned.m8n8.x1" T ".shared.b16 [%0], {%1};" ::"r"(p), "r"(w.a) : "memory")
#define STORE2(T) asm volatile("stmatrix.sync.aligned.m8n8.x2" T ".shared.b16 [%0], {%1,%2};" ::"r"(p), "r"(w.b), "r"(w.c) : "memory")
#define STORE4(T) asm volatile("stmatrix.sync.aligned.m8n8.x4" T ".shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(p), "r"(w.a), "r"(w.b), "r"(w.c), "r"(w.d) : "memory")
KERNEL kernel(PARAMS) {
    __shared__ __align__(16) u32 s[8][256];
    u32 x = get(in, n, 0);
    Chains w(x);
    u32 *mine = s[warp()];
    for (int k = 0; k < 8; k++) mine[k * 32 + lane()] = x + k;
    __syncwarp();
    for (u32 r = 0; r < n >> 18; r++) {
        u32 p = shared_address(mine + ((lane() * 5 + r) & 63) * 4);  // each lane another row
        STORE4("");
        w.step(x);
        __syncwarp();
        w.step(mine[(lane() * 3 + 7) & 255]);
        __syncwarp();
        STORE4(".trans");
        __syncwarp();
        w.step(mine[255 - lane()]);
        __syncwarp();
        STORE2("");
        w.step(x + r);
        __syncwarp();
        w.step(mine[lane() * 4 + 1] ^ mine[lane() * 4 + 130]);
        __syncwarp();
        STORE1(".trans");
        __syncwarp();
        STORE2(".trans");
        __syncwarp();
        STORE1("");
        __syncwarp();
        w.step(mine[lane() * 7 & 255]);
        x = mix(x, w.a);
        __syncwarp();
    }
    u32 sum = 0;
#pragma unroll
    for (int k = 0; k < 8; k++) sum = mix(sum, mine[k * 32 + lane()]);
    out[gid()] = w.end() ^ sum;
}
