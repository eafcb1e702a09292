// Many conditions live at once: more than there are predicate registers, so that some are kept in a mask.
extern "C" __global__ void kernel(const int* in, int* out, int n, int bias) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int v = in[i];
    bool c[12];
#pragma unroll
    for (int b = 0; b < 12; b++) c[b] = ((v >> b) ^ (v >> (b + 9))) & 1;
    int x = v + bias;
    for (int r = 0; r < 6; r++) {
        if (c[0]) x = x * 3 + 1;
        if (c[1] && x > 0) x ^= in[(x & 0xffff) % n];
        if (c[2] != (x & 1)) x += r;
        if (c[3]) x = (x << 5) | ((unsigned)x >> 27);
        if (c[4] && c[5]) x -= v;
        if (c[6] || x < 0) x ^= 0x55aa;
        if (c[7]) x += in[((unsigned)x >> 8) % n];
        if (c[8] && !c[9]) x = -x;
        if (c[10]) x ^= x >> 7;
        if (c[11] != c[0]) x += 0x1234567;
        c[r] = x & 1;
        c[11 - r] = x & 2;
    }
    out[i] = x;
}
