"""Least latencies of instructions whose results come back under a scoreboard, as chains of dependent ones take them.

One warp runs a chain of 256 instructions, each of which needs the result of the one before; cycles are read around it.
Prints CSV: name, cycles per link (the fastest of 20 runs). Needs CuPy and a GPU; nothing else runs beside it.
"""

import cupy

CHAINS = {
    # name: (set-up, one link)
    "alu": ("", 'asm volatile("add.u32 %0, %0, %1;" : "+r"(x) : "r"(step));'),
    "shared": ("", 'asm volatile("ld.shared.u32 %0, [%0];" : "+r"(x));'),
    "shuffle": ("", 'asm volatile("shfl.sync.idx.b32 %0, %0, 0, 31, -1;" : "+r"(x));'),
    "sfu": ("", 'asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(f));'),
    "convert": ("", 'asm volatile("cvt.rni.f32.f32 %0, %0;" : "+f"(f));'),
    "popc": ("", 'asm volatile("popc.b32 %0, %0;" : "+r"(x));'),
    "global": ("", 'asm volatile("ld.global.ca.u64 %0, [%0];" : "+l"(p));'),
    "local": ("", 'asm volatile("ld.local.u32 %0, [%0];" : "+r"(x));'),
    "constant": ("", "x = table[x];"),
    "special_register": ("", 'asm volatile("{.reg .u32 t; mov.u32 t, %%smid; add.u32 %0, %0, t;}" : "+r"(x));'),
}

SOURCE = """
__constant__ unsigned table[64];
extern "C" __global__ void chain(unsigned *out, unsigned long long *cell, unsigned step) {
    __shared__ unsigned memory[64];
    memory[threadIdx.x] = 0; memory[threadIdx.x + 32] = 0;
    __syncthreads();
    unsigned x = 0; float f = 0.0f; unsigned long long p = (unsigned long long)cell;
    %(setup)s
    for (int warm = 0; warm < 2; ++warm) {
        long long begin = clock64();
        %(links)s
        long long end = clock64();
        if (threadIdx.x == 0) out[warm] = (unsigned)(end - begin);
    }
    out[2 + threadIdx.x] = x + (unsigned)p + (unsigned)f;
}
"""


def main():
    links = 256
    print("name,cycles_per_link")
    for name, (setup, link) in CHAINS.items():
        if name == "local":
            continue  # the compiler keeps local memory to itself
        source = SOURCE % {"setup": setup, "links": "\n        ".join([link] * links)}
        try:
            kernel = cupy.RawKernel(source, "chain", options=("-std=c++14",))
            out = cupy.zeros(64, cupy.uint32)
            cell = cupy.zeros(1, cupy.uint64)
            cell[0] = cell.data.ptr
            best = None
            for _ in range(20):
                kernel((1,), (32,), (out, cell, cupy.uint32(0)))
                cycles = int(out[1])
                best = cycles if best is None else min(best, cycles)
            print(f"{name},{best / links:.2f}")
        except Exception as error:  # one chain that does not compile must not end the others
            print(f"{name},error: {str(error).splitlines()[0][:100]}")


if __name__ == "__main__":
    main()
