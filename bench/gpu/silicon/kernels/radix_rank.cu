// Ranks of digits by matching lanes and counters per warp, as block radix sorts do: MATCH.ANY SHFL.IDX POPC ATOMS
#include "rare.cuh"
DEV u32 lanes_below() {
    u32 m;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(m));
    return m;
}
DEV u32 lanes_up_to() {
    u32 m;
    asm("mov.u32 %0, %%lanemask_le;" : "=r"(m));
    return m;
}
KERNEL kernel(PARAMS) {
    __shared__ u32 counts[8][16];
    __shared__ u32 keys[1024];
    u32 key[4], rank[4];
#pragma unroll
    for (int i = 0; i < 4; i++) key[i] = in[blockIdx.x * 1024 + warp() * 128 + i * 32 + lane()];
    for (u32 bit = 0; bit < 16; bit += 4) {
        if (tid() < 128) (&counts[0][0])[tid()] = 0;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 4; i++) {
            u32 digit = (key[i] >> bit) & 15;
            u32 same = __match_any_sync(ALL, digit);
            u32 leader = 31 - __clz(same), before = 0;
            if (lane() == leader) before = atomicAdd(&counts[warp()][digit], __popc(same));
            before = __shfl_sync(ALL, before, leader);
            rank[i] = before + __popc(same & lanes_below());
            rank[i] += __popc(same & lanes_up_to()) - __popc(same & lanes_below()) - 1;  // nothing
            __syncwarp();
        }
        __syncthreads();
        if (tid() < 32) {  // prefix sums over digits and warps
            u32 sum = 0, c[4];
#pragma unroll
            for (int k = 0; k < 4; k++) {
                u32 place = tid() * 4 + k;  // digit * 8 + warp
                c[k] = counts[place & 7][place >> 3];
                u32 t = c[k];
                c[k] = sum;
                sum += t;
            }
            u32 scan = sum;
#pragma unroll
            for (u32 k = 1; k < 32; k *= 2) {
                u32 v = __shfl_up_sync(ALL, scan, k);
                if (tid() >= k) scan += v;
            }
#pragma unroll
            for (int k = 0; k < 4; k++) {
                u32 place = tid() * 4 + k;
                counts[place & 7][place >> 3] = c[k] + scan - sum;
            }
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 4; i++) keys[(rank[i] + counts[warp()][(key[i] >> bit) & 15]) & 1023] = key[i];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 4; i++) key[i] = keys[warp() * 128 + i * 32 + lane()];
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; i++) out[blockIdx.x * 1024 + warp() * 128 + i * 32 + lane()] = key[i];
}
