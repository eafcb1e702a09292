// Warps of a block pass on words of global and shared memory behind a flag in shared memory; acquire and release are of the block alone, so that a NOP that waits is all there is: NOP LDS STS ATOMS MEMBAR.ALL.CTA
// launch: grid=64 block=256
#include "rare.cuh"
KERNEL kernel(const u32 *in, u32 *out, u32 n) {
    __shared__ u32 flags[16], words[8][32], count;
    u32 *data = out + 131072 + blockIdx.x * 4096;
    if (tid() < 16) flags[tid()] = 0;
    if (tid() == 0) count = 0;
    words[warp()][lane()] = 0;
    __syncthreads();
    u32 x = in[gid() & (n - 1)], sum = 0;
    Chains w(x);
    for (u32 r = 0; r < 12; r++) {
        u32 from = (warp() + r) & 7, v;
        if (warp() != 0 || r != 0) {
            // Everybody waits until the warp before has been here.
            u32 before = r * 8 + warp();
            do asm volatile("ld.acquire.cta.shared.u32 %0, [%1];" : "=r"(v) : "r"(shared_address(flags)) : "memory");
            while (v < before);
            sum += data[(from * 32 + lane()) & 1023] ^ words[from][lane() ^ 1];
        }
        w.step(sum);
        data[(warp() * 32 + lane()) & 1023] = w.a + r;
        words[warp()][lane()] = w.b ^ sum;
        __syncwarp();
        if (lane() == 0) {
            asm volatile("atom.acq_rel.cta.shared.add.u32 %0, [%1], 1;" : "=r"(v) : "r"(shared_address(&count)) : "memory");
            asm volatile("st.release.cta.shared.u32 [%0], %1;" ::"r"(shared_address(flags)), "r"(r * 8 + warp() + 1) : "memory");
            sum += v;
        }
        __syncwarp();
    }
    out[gid()] = w.end() + sum;
}
