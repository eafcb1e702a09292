// Loops with several exits, continues, gotos between nests, early returns by lane and work after each way out: BSSY, BSYNC, BREAK, EXIT by predicate, VOTEU.ANY.
// input: random
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x = in[t], y = in[t + 2048], way = 0;
    out[t + 8192] = x ^ y;
    if ((x & 0xff) == 7) return;
    for (unsigned i = 0; i < 20; i++) {
        x = x * 0x01000193u + i;
        if ((x & 31) == 5) { way |= 1; break; }
        for (unsigned j = x & 3; j < 6; j++) {
            y = __funnelshift_l(y, x, j) + j;
            if ((y & 15) == 1) continue;
            if ((y & 127) == 2) { way |= 2; goto done; }
            if ((y & 63) == 9) { way |= 4; break; }
            const unsigned v = in[y & 0xffff];
            x ^= v;
            if (v < 0x1000000u) { way |= 8; goto next; }
            way += 256;
        }
        if ((x ^ y) & 0x100) {
            out[t + 10240] = x + i;
            if ((y & 1023) == 77) { out[t] = x; return; }
        }
        y += 3;
    next:
        way += 4096;
    }
    y = y * 5 + 1;
done:
    const unsigned mask = __activemask();
    out[t] = x + (mask ? 1 : 0);
    if (way & 2) {
        out[t + 4096] = y;
        return;
    }
    do {
        y -= x >> 5;
        if (y & 1) x += y;
        else if (y & 2) y >>= 1;
        else break;
    } while ((x & 7) != 3 && way++ < 70000 + 50);
    out[t + 2048] = y;
    out[t + 6144] = way;
}
