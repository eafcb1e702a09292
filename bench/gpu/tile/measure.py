#!/usr/bin/env python3
"""What tile operations cost on a GPU of compute capability 9.0: cycles of one multiprocessor.

Writes a CUDA program, compiles it with nvcc, runs it and prints CSV: quantity, parameter, value, unit. Each figure is the
median of several runs of a loop that is long enough for its start not to matter. `crates/machine/data/tile/hardware.csv` is made
from these rows.

    python3 measure.py --out measured.csv
"""

import argparse
import os
import pathlib
import subprocess
import tempfile

HEAD = r"""
#include <cstdio>
#include <cstdint>
#include <algorithm>
#include <vector>
#include <cuda_runtime.h>
#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { \
  fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(e)); exit(1); } } while (0)

__device__ inline uint32_t shared_address(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }
__device__ inline long long now() { long long t; asm volatile("mov.u64 %0, %%clock64;" : "=l"(t) :: "memory"); return t; }
__device__ inline void barrier_init(uint32_t b, int n) { asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(b), "r"(n) : "memory"); }
__device__ inline void expect(uint32_t b, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" :: "r"(b), "r"(bytes) : "memory"); }
__device__ inline void wait_parity(uint32_t b, uint32_t parity) {
  asm volatile("{ .reg .pred p; again: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; @p bra done; bra again; done: }"
               :: "r"(b), "r"(parity) : "memory"); }
__device__ inline void bulk(uint32_t to, const void *from, uint32_t bytes, uint32_t b) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
               :: "r"(to), "l"(from), "r"(bytes), "r"(b) : "memory"); }
"""

BULK = r"""
// One transfer after the other: latency. `stride` far beyond the caches makes it one from memory.
__global__ void bulk_latency(const char *data, size_t stride, uint32_t bytes, int rounds, long long *out) {
  extern __shared__ __align__(1024) char smem[];
  __shared__ __align__(8) uint64_t bar;
  uint32_t b = shared_address(&bar);
  barrier_init(b, 1);
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  for (int i = 0; i < rounds; ++i) {
    long long t = now();
    expect(b, bytes);
    bulk(shared_address(smem), data + stride * i, bytes, b);
    wait_parity(b, i & 1);
    out[i] = now() - t;
  }
}

// Many at once: what the engine moves per cycle.
// `span` and `slots` are powers of two: a remainder would take longer than a transfer.
// `apart`: bytes between what neighbouring blocks begin with.
__global__ void bulk_rate(const char *data, size_t apart, size_t span, uint32_t bytes, int slots, int rounds, long long *out) {
  extern __shared__ __align__(1024) char smem[];
  __shared__ __align__(8) uint64_t bars[16];
  for (int s = 0; s < slots; ++s) barrier_init(shared_address(&bars[s]), 1);
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  const char *base = data + (size_t)blockIdx.x * apart;
  size_t mask = span - 1;
  int shift = __ffs(slots) - 1;
  long long t = now();
  for (int i = 0; i < rounds + slots; ++i) {
    int s = i & (slots - 1);
    uint32_t b = shared_address(&bars[s]);
    if (i >= slots) wait_parity(b, ((i >> shift) - 1) & 1);
    if (i < rounds) {
      expect(b, bytes);
      bulk(shared_address(smem + (size_t)s * bytes), base + (((size_t)i * bytes) & mask), bytes, b);
    }
  }
  out[blockIdx.x] = now() - t;
}

// cp.async of 16 bytes per thread, committed in groups.
__global__ void cp_async_rate(const char *data, int rounds, long long *out) {
  extern __shared__ __align__(1024) char smem[];
  uint32_t to = shared_address(smem) + threadIdx.x * 16;
  const char *from = data + threadIdx.x * 16;
  __syncthreads();
  long long t = now();
  for (int i = 0; i < rounds; ++i) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to + (i & 7) * blockDim.x * 16), "l"(from + (size_t)(i & 63) * blockDim.x * 16) : "memory");
    if ((i & 3) == 3) { asm volatile("cp.async.commit_group;" ::: "memory"); asm volatile("cp.async.wait_group 3;" ::: "memory"); }
  }
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) out[0] = now() - t;
}

__global__ void cp_async_latency(const char *data, size_t stride, int rounds, long long *out) {
  extern __shared__ __align__(1024) char smem[];
  uint32_t to = shared_address(smem) + threadIdx.x * 16;
  for (int i = 0; i < rounds; ++i) {
    __syncthreads();
    long long t = now();
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to), "l"(data + stride * i + threadIdx.x * 16) : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    if (threadIdx.x == 0) out[i] = now() - t;
  }
}
"""

SIMPLE = [
    # name, registers in, statement over four independent chains, operations per thread and statement
    ("fma", "fma.rn.f32 %0, %0, %4, %5;"),
    ("add", "add.rn.f32 %0, %0, %4;"),
    ("mul", "mul.rn.f32 %0, %0, %4;"),
    ("max", "max.f32 %0, %0, %4;"),
    ("ex2", "ex2.approx.ftz.f32 %0, %0;"),
    ("sqrt", "sqrt.approx.ftz.f32 %0, %0;"),
    ("shuffle", "shfl.sync.bfly.b32 %0, %0, 1, 31, 0xffffffff;"),
]


def simple_kernels():
    text, calls = "", ""
    for name, statement in SIMPLE:
        asm = ""
        for chain in range(4):
            s = statement.replace("%0", f"%{chain}")
            asm += f'"{s}\\n"'
        text += f"""
__global__ void rate_{name}(float *sink, int rounds, long long *out) {{
  float a = threadIdx.x, b = a + 1, c = a + 2, d = a + 3;
  __syncthreads();
  long long t = now();
  #pragma unroll 1
  for (int i = 0; i < rounds; ++i) {{
    asm volatile({asm * 16} : "+f"(a), "+f"(b), "+f"(c), "+f"(d) : "f"(0.5f), "f"(0.25f));
  }}
  __syncthreads();
  if (threadIdx.x == 0) out[0] = now() - t;
  sink[threadIdx.x] = a + b + c + d;
}}
"""
        calls += f'  simple("{name}", rate_{name});\n'
    text += r"""
__global__ void rate_convert(float *sink, int rounds, long long *out) {
  float a = threadIdx.x, b = a + 1; uint32_t p = 0, q = 0;
  __syncthreads();
  long long t = now();
  #pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
    #pragma unroll
    for (int j = 0; j < 8; ++j) {
      // Each goes into the next, or they would be one.
      asm volatile("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(p) : "f"(a), "f"(b));
      asm volatile("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(q) : "f"(b), "f"(a));
      a = __uint_as_float(p); b = __uint_as_float(q);
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) out[0] = now() - t;
  sink[threadIdx.x] = p + q;
}
__global__ void rate_load_shared(float *sink, int rounds, long long *out) {
  extern __shared__ __align__(1024) char smem[];
  uint32_t at = shared_address(smem) + threadIdx.x * 16;
  float s = 0;
  __syncthreads();
  long long t = now();
  #pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
    #pragma unroll
    for (int j = 0; j < 8; ++j) {
      float a, b, c, d;
      asm volatile("ld.volatile.shared.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "r"(at));
      s += a + b + c + d;
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) out[0] = now() - t;
  sink[threadIdx.x] = s;
}
__global__ void rate_store_shared(float *sink, int rounds, long long *out) {
  extern __shared__ __align__(1024) char smem[];
  uint32_t at = shared_address(smem) + threadIdx.x * 16;
  float s = threadIdx.x;
  __syncthreads();
  long long t = now();
  #pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
    #pragma unroll
    for (int j = 0; j < 8; ++j)
      asm volatile("st.volatile.shared.v4.f32 [%0], {%1, %1, %1, %1};" :: "r"(at), "f"(s) : "memory");
  }
  __syncthreads();
  if (threadIdx.x == 0) out[0] = now() - t;
  sink[threadIdx.x] = s;
}
__global__ void rate_barrier(float *sink, int rounds, long long *out) {
  __syncthreads();
  long long t = now();
  for (int i = 0; i < rounds; ++i) asm volatile("bar.sync 1, %0;" :: "r"(blockDim.x) : "memory");
  if (threadIdx.x == 0) out[0] = now() - t;
  sink[threadIdx.x] = 0;
}
"""
    return text, calls


def matrix_kernels():
    """wgmma of a warpgroup: time of one, and of many one after the other into the same accumulator."""
    text, calls = "", ""
    kinds = [("f16", "f32.f16.f16", 16, ", 1, 1, 1, 0, 0"), ("e4m3", "f32.e4m3.e4m3", 32, ", 1, 1, 1"), ("s8", "s32.s8.s8", 32, ", 1")]
    for kind, types, k, tail in kinds:
        for n in (64, 128, 256):
            count = n // 2
            register = "r" if kind == "s8" else "f"
            c_type = "int" if kind == "s8" else "float"
            regs = ", ".join(f"%{i}" for i in range(count))
            outs = ", ".join(f'"+{register}"(c[{i}])' for i in range(count))
            # The flag that says whether the accumulator counts is a predicate; the rest are immediates.
            scale = tail.split(", ", 2)
            immediates = f", {scale[2]}" if len(scale) > 2 else ""
            body = f'''asm volatile("{{ .reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m64n{n}k{k}.{types} {{{regs}}}, %{count}, %{count + 1}, p{immediates}; }}" : {outs} : "l"(da), "l"(db));'''
            text += f"""
__global__ void matrix_{kind}_{n}(float *sink, int rounds, int burst, long long *out) {{
  extern __shared__ __align__(1024) char smem[];
  for (int i = threadIdx.x; i < 16384; i += blockDim.x) ((uint32_t *)smem)[i] = 0;
  __syncthreads();
  {c_type} c[{count}];
  for (int i = 0; i < {count}; ++i) c[i] = 0;
  uint64_t a = shared_address(smem), b = a + 16384;
  // No swizzle, 128 and 256 bytes between the pieces: addresses only matter for being in the memory.
  uint64_t da = ((a & 0x3FFFF) >> 4) | (8ull << 16) | (16ull << 32);
  uint64_t db = ((b & 0x3FFFF) >> 4) | (8ull << 16) | (16ull << 32);
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  long long t = now();
  #pragma unroll 1
  for (int i = 0; i < rounds; ++i) {{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    #pragma unroll 1
    for (int j = 0; j < burst; ++j) {{ {body} }}
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  }}
  __syncthreads();
  if (threadIdx.x == 0) out[0] = now() - t;
  float s = 0;
  for (int i = 0; i < {count}; ++i) s += c[i];
  sink[threadIdx.x] = s;
}}
"""
            calls += f'  matrix("{kind}", {n}, matrix_{kind}_{n});\n'
    # The older instruction, which compute capability 8.0 has too.
    text += r"""
__global__ void mma_sync_f16(float *sink, int rounds, long long *out) {
  float c[8][4] = {}; uint32_t a[4] = {}, b[2] = {};
  __syncthreads();
  long long t = now();
  #pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
    #pragma unroll
    for (int j = 0; j < 8; ++j)
      asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[j][0]), "+f"(c[j][1]), "+f"(c[j][2]), "+f"(c[j][3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
  __syncthreads();
  if (threadIdx.x == 0) out[0] = now() - t;
  float s = 0;
  for (int j = 0; j < 8; ++j) s += c[j][0] + c[j][1] + c[j][2] + c[j][3];
  sink[threadIdx.x] = s;
}
"""
    return text, calls


MAIN = r"""
static char *data; static float *sink; static long long *out;
static const size_t SIZE = 4ull << 30;
static std::vector<long long> fetch(int n) { std::vector<long long> v(n); CHECK(cudaDeviceSynchronize()); CHECK(cudaMemcpy(v.data(), out, n * 8, cudaMemcpyDeviceToHost)); return v; }
static double median(std::vector<double> v) { std::sort(v.begin(), v.end()); return v[v.size() / 2]; }
static void row(const char *what, const char *parameter, double value, const char *unit) { printf("%s,%s,%.4f,%s\n", what, parameter, value, unit); }

template <class F> static double cycles(F launch) {
  std::vector<double> v;
  for (int i = 0; i < 7; ++i) { launch(); v.push_back((double)fetch(1)[0]); }
  return median(v);
}
template <class K> static void simple(const char *name, K kernel) {
  const int rounds = 2000, threads = 512;
  double c = cycles([&] { kernel<<<1, threads>>>(sink, rounds, out); });
  row("rate", name, (double)rounds * 64 * threads / c, "per cycle");
}
template <class K> static void matrix(const char *name, int n, K kernel) {
  CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536));
  char p[64];
  for (int groups = 1; groups <= 2; ++groups) {
    double c = cycles([&] { kernel<<<1, 128 * groups, 65536>>>(sink, 50, 64, out); });
    snprintf(p, 64, "%s n%d groups%d", name, n, groups);
    row("wgmma", p, c / (50.0 * 64 * groups), "cycles");
  }
  double c = cycles([&] { kernel<<<1, 128, 65536>>>(sink, 500, 1, out); });
  snprintf(p, 64, "%s n%d", name, n);
  row("wgmma alone", p, c / 500, "cycles");
}

int main() {
  CHECK(cudaMalloc(&data, SIZE)); CHECK(cudaMemset(data, 0, SIZE)); CHECK(cudaMalloc(&sink, 1 << 20)); CHECK(cudaMalloc(&out, 1 << 20));
  cudaDeviceProp prop; CHECK(cudaGetDeviceProperties(&prop, 0));
  printf("quantity,parameter,value,unit\n");
  row("device", prop.name, prop.multiProcessorCount, "multiprocessors");
  const int MOST = 131072;
  CHECK(cudaFuncSetAttribute(bulk_latency, cudaFuncAttributeMaxDynamicSharedMemorySize, MOST));
  CHECK(cudaFuncSetAttribute(bulk_rate, cudaFuncAttributeMaxDynamicSharedMemorySize, MOST));
  CHECK(cudaFuncSetAttribute(cp_async_rate, cudaFuncAttributeMaxDynamicSharedMemorySize, MOST));
  char p[64];
  for (uint32_t bytes : {512u, 1024u, 2048u, 4096u, 8192u, 16384u, 32768u}) {
    for (int far = 0; far < 2; ++far) {
      // Anything that was cached has been pushed out.
      CHECK(cudaMemset(data + (1ull << 30), 1, 3ull << 30));
      size_t stride = far ? (4 << 20) : 0;
      bulk_latency<<<1, 1, MOST>>>(data, stride, bytes, 40, out);
      auto v = fetch(40); std::vector<double> d(v.begin() + 4, v.end());
      snprintf(p, 64, "%u %s", bytes, far ? "memory" : "cache"); row("bulk latency", p, median(d), "cycles");
    }
    uint32_t slots = std::min(16u, MOST / bytes);
    for (int blocks : {1, prop.multiProcessorCount}) {
      int rounds = 2000;
      // What all read, from the cache; what each has for itself there; and what each reads once, from memory.
      struct { const char *name; size_t apart, span; } ways[] = {
        {"same", 0, 16 << 20}, {"own", 128 << 10, 128 << 10}, {"memory", 16 << 20, SIZE}};
      for (auto way : ways) {
        if (way.span == SIZE) { rounds = std::min(2000, (16 << 20) / (int)bytes); CHECK(cudaMemset(data + (3ull << 30), 1, 1ull << 30)); }
        else bulk_rate<<<blocks, 1, MOST>>>(data, way.apart, way.span, bytes, slots, rounds, out);
        bulk_rate<<<blocks, 1, MOST>>>(data, way.apart, way.span, bytes, slots, rounds, out);
        auto v = fetch(blocks); std::vector<double> d(v.begin(), v.end());
        snprintf(p, 64, "%u blocks%d %s", bytes, blocks, way.name); row("bulk rate", p, (double)bytes * rounds / median(d), "bytes per cycle");
      }
    }
  }
  for (int threads : {128, 256, 512}) {
    double c = cycles([&] { cp_async_rate<<<1, threads, MOST>>>(data, 4000, out); });
    snprintf(p, 64, "threads%d cache", threads); row("cp.async rate", p, 4000.0 * threads * 16 / c, "bytes per cycle");
  }
  for (int far = 0; far < 2; ++far) {
    CHECK(cudaMemset(data + (1ull << 30), 1, 3ull << 30));
    cp_async_latency<<<1, 128, MOST / 4>>>(data, far ? (4 << 20) : 0, 40, out);
    auto v = fetch(40); std::vector<double> d(v.begin() + 4, v.end());
    row("cp.async latency", far ? "memory" : "cache", median(d), "cycles");
  }
CALLS
  { double c = cycles([&] { rate_convert<<<1, 512>>>(sink, 2000, out); }); row("rate", "convert", 2000.0 * 32 * 512 / c, "per cycle"); }
  { double c = cycles([&] { rate_load_shared<<<1, 512, 16384>>>(sink, 2000, out); }); row("rate", "load shared", 2000.0 * 8 * 16 * 512 / c, "bytes per cycle"); }
  { double c = cycles([&] { rate_store_shared<<<1, 512, 16384>>>(sink, 2000, out); }); row("rate", "store shared", 2000.0 * 8 * 16 * 512 / c, "bytes per cycle"); }
  for (int threads : {128, 256, 384}) { double c = cycles([&] { rate_barrier<<<1, threads>>>(sink, 2000, out); });
    snprintf(p, 64, "threads%d", threads); row("named barrier", p, c / 2000, "cycles"); }
  for (int warps : {4, 8, 16}) { double c = cycles([&] { mma_sync_f16<<<1, warps * 32>>>(sink, 1000, out); });
    snprintf(p, 64, "f16 warps%d", warps); row("mma.sync m16n8k16", p, c / (1000.0 * 8 * warps), "cycles per SM"); }
  return 0;
}
"""


def program():
    simple, simple_calls = simple_kernels()
    matrix, matrix_calls = matrix_kernels()
    return HEAD + BULK + simple + matrix + MAIN.replace("CALLS", simple_calls + matrix_calls)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nvcc", default="nvcc", help="the compiler")
    parser.add_argument("--out", type=pathlib.Path, help="where to write the table; nothing for standard output")
    parser.add_argument("--source", type=pathlib.Path, help="only write the CUDA program there")
    options = parser.parse_args()
    if options.source:
        options.source.write_text(program())
        return
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "measure.cu"
        source.write_text(program())
        binary = pathlib.Path(folder) / "measure"
        # Flags from the environment may name an architecture of their own.
        environment = {k: v for k, v in os.environ.items() if not k.startswith("NVCC_")}
        target = ["-gencode", "arch=compute_90a,code=sm_90a"]
        subprocess.run([options.nvcc, "-O3", *target, "-o", binary, source], check=True, env=environment)
        table = subprocess.run([binary], check=True, stdout=subprocess.PIPE, text=True).stdout
    if options.out:
        options.out.write_text(table)
    else:
        print(table, end="")


if __name__ == "__main__":
    main()
