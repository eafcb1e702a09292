// Nested loops with uniform counters and uniform exits, a uniform bound made by a shuffle: USHF.R.U32.HI, ULDC, PLOP3.LUT, SHFL.IDX, LDG with an address from uniform parts.
// input: random
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x = in[t], sum = 0;
    const unsigned rows = 3 + (blockIdx.x & 3), columns = n >> 18;
    for (unsigned r = 0; r < rows; r++) {
        const unsigned* row = in + (blockIdx.x * 1024 + r * 4096);
        for (unsigned c = 0; c < columns; c++) {
            const unsigned v = row[c * 32 + (threadIdx.x & 31)], u = row[c * 7 + r];
            sum = sum * 3 + (v ^ x);
            x += (u >> 5) + sum;
            if (((blockIdx.x + c * r) & 7) == 6) break;
        }
        if (row[r] == 0x12345678u) break;
        x = __funnelshift_l(x, x, r + columns);
    }
    // A value that is uniform in fact, made so by a shuffle, then used as a loop bound.
    const unsigned bound = __shfl_sync(0xffffffffu, x, 0) & 7;
    for (unsigned i = 0; i < bound; i++) sum ^= in[(sum & 0xffff) + i];
    out[t] = sum;
    out[t + 2048] = x;
}
