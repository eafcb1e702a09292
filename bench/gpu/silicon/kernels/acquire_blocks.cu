// Blocks pass on a growing sum behind flags, as scans that look back do: an acquire whose value is used at once, and one whose value only decides later: LDG.E.STRONG.GPU CCTL.IVALL ATOMG
// launch: grid=48 block=128
#include "rare.cuh"
KERNEL kernel(const u32 *in, u32 *out, u32 n) {
    u32 *flags = out + 900000, *data = out + 700000;
    u32 x = in[gid() & (n - 1)];
    Chains w(x);
    u32 b = blockIdx.x, sum = 0;
    if (b != 0) {
        u32 v, u;
        do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(flags + b - 1) : "memory");
        while (v == 0);
        // Seen already: the load is done before data is read, though nobody looks at its value.
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(u) : "l"(flags + b - 1) : "memory");
        sum = data[(b - 1) * 128 + (tid() ^ 5)] + in[(gid() + 77) & (n - 1)];
        w.step(sum);
        sum += u * 7;
    }
    data[b * 128 + tid()] = w.a ^ sum;
    __threadfence();
    __syncthreads();
    if (tid() == 0) {
        u32 old;
        asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;" : "=r"(old) : "l"(flags + b), "r"(b + 1) : "memory");
        sum += old;
    }
    out[gid()] = w.end() + sum;
}
