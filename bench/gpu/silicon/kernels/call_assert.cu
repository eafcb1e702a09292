// Assertions that hold, a printf and a trap never reached, and malloc-free extern calls: CALL.ABS.NOINC, LEPC, BPT.TRAP, MOV of argument tables, cold blocks that hold live values over calls.
// input: random
#include <assert.h>
#include <stdio.h>
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x = in[t], y = in[t + 2048], sum = 0;
    float f = (float)(x & 1023);
    for (int i = 0; i < 6; i++) {
        const unsigned index = (x ^ y) % 2048;
        assert(index < 2048);
        sum = sum * 31 + in[index] + __popc(y);
        f = f * 0.5f + (float)(sum & 255);
        assert(f >= 0.0f && f < 4096.0f);
        if (index > n) printf("%u %f\n", index, f);
        x = x * 5 + sum;
        y ^= x >> 9;
        if (__popc(x) == 33) __trap();
        assert((sum | 1) != 0);
        if (f == 12345.0f) asm volatile("brkpt;");
    }
    out[t] = x;
    out[t + 2048] = y;
    out[t + 4096] = sum;
    out[t + 6144] = __float_as_uint(f);
}
