// Ranks by or-ed lane masks in shared memory and by ballots per bit, the other ways of radix sorts: ATOMS.OR VOTE.ANY POPC
#include "rare.cuh"
KERNEL kernel(PARAMS) {
    __shared__ u32 masks[8][16];
    __shared__ u32 offsets[8][16];
    u32 x = get(in, n, 0);
    Chains w(x);
    if (lane() < 16) {
        masks[warp()][lane()] = 0;
        offsets[warp()][lane()] = 0;
    }
    __syncwarp();
    for (u32 r = 0; r < 6; r++) {
        u32 digit = (x >> (r * 4)) & 15;
        atomicOr(&masks[warp()][digit], 1u << lane());
        __syncwarp();
        u32 same = masks[warp()][digit];
        u32 bits = ALL;
#pragma unroll
        for (int b = 0; b < 4; b++) {
            u32 v = __ballot_sync(ALL, (digit >> b) & 1);
            bits &= (digit >> b) & 1 ? v : ~v;
        }
        u32 leader = 31 - __clz(same);
        u32 below = __popc(bits & ((1u << lane()) - 1));
        u32 base = offsets[warp()][digit];
        __syncwarp();
        if (lane() == leader) {
            offsets[warp()][digit] = base + __popc(same);
            masks[warp()][digit] = 0;
        }
        __syncwarp();
        w.step(base + below);
        w.step(same ^ rot(bits, 1));
        x = mix(x, base + below);
    }
    u32 last = offsets[warp()][lane() & 15];
    out[gid()] = w.end() + last;
}
