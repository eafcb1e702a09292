// Atomics in shared and in global memory.
#include "device.h"

SHARED u32 bins[256];

GLOBAL void histogram(int n, const u32 *in, u32 *out) {
    bins[thread()] = 0;
    barrier();
    for (int i = index(); i < n; i += blocks() * threads()) {
        u32 word = in[i];
#pragma unroll
        for (int byte = 0; byte < 4; byte++)
            __atomic_fetch_add(&bins[word >> 8 * byte & 255], 1u, __ATOMIC_RELAXED);
    }
    barrier();
    __atomic_fetch_add(&out[thread()], bins[thread()], __ATOMIC_RELAXED);
}

// Compare and swap in a loop, exchange, extremes.
GLOBAL void extremes(int n, const float *in, u32 *product, int *low, u32 *high, u64 *sum) {
    int i = index();
    if (i >= n)
        return;
    u32 seen = *(volatile u32 *)product, wanted;
    do {
        wanted = __builtin_bit_cast(u32, __builtin_bit_cast(float, seen) * in[i]);
    } while (!__atomic_compare_exchange_n(product, &seen, wanted, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    __nvvm_atom_min_gen_i(low, (int)in[i]);
    __nvvm_atom_max_gen_ui(high, (u32)in[i]);
    __nvvm_atom_add_gen_ll((long long *)sum, (long long)in[i]);
}
