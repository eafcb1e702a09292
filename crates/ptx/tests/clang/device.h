// The few declarations that device code needs, so that no CUDA toolkit takes part in these modules.
#pragma once

#define GLOBAL __attribute__((global)) extern "C"
#define DEVICE __attribute__((device)) static inline __attribute__((always_inline))
#define SHARED __attribute__((shared))
#define LAUNCH(threads) __attribute__((launch_bounds(threads)))

typedef unsigned int u32;
typedef unsigned long long u64;
typedef float float4 __attribute__((ext_vector_type(4)));
typedef double double2 __attribute__((ext_vector_type(2)));
typedef int int4 __attribute__((ext_vector_type(4)));
typedef u32 uint4 __attribute__((ext_vector_type(4)));
typedef _Float16 half;
typedef _Float16 half2 __attribute__((ext_vector_type(2)));
typedef __bf16 bfloat;

DEVICE int thread() { return __nvvm_read_ptx_sreg_tid_x(); }
DEVICE int thread_y() { return __nvvm_read_ptx_sreg_tid_y(); }
DEVICE int block() { return __nvvm_read_ptx_sreg_ctaid_x(); }
DEVICE int block_y() { return __nvvm_read_ptx_sreg_ctaid_y(); }
DEVICE int threads() { return __nvvm_read_ptx_sreg_ntid_x(); }
DEVICE int blocks() { return __nvvm_read_ptx_sreg_nctaid_x(); }
DEVICE int index() { return block() * threads() + thread(); }
DEVICE void barrier() { __syncthreads(); }
DEVICE float down(float value, int by) { return __nvvm_shfl_sync_down_f32(~0u, value, by, 31); }
DEVICE int up(int value, int by) { return __nvvm_shfl_sync_up_i32(~0u, value, by, 0); }
DEVICE int across(int value, int mask) { return __nvvm_shfl_sync_bfly_i32(~0u, value, mask, 31); }
