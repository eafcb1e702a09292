// Pointers that may be to shared, local or global memory, chosen by data: LD.E, ST.E, LD.E.128, ATOM.E, QSPC.E.S, QSPC.E.L or ISETP on windows (isspacep), cvta both ways.
// input: random
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    __shared__ __align__(16) unsigned s[256 * 8];
    __align__(16) unsigned l[8];
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned* own = s + threadIdx.x * 8;
    unsigned* far = out + 65536 + t * 8;
    unsigned x = in[t], sum = 0;
    for (int k = 0; k < 8; k++) {
        own[k] = in[t + 2048 * k];
        l[k] = in[t + 2048 * (k + 8)];
        far[k] = x + k;
    }
    for (int i = 0; i < 10; i++) {
        const unsigned which = x % 3;
        unsigned* p = which == 0 ? own : which == 1 ? l : far;
        unsigned* q = (x >> 9) % 3 == 0 ? l : (x >> 9) % 3 == 1 ? far : own;
        p[x >> 3 & 7] += x;
        const unsigned v = q[x >> 6 & 7];
        unsigned char* b = (unsigned char*)p;
        b[v & 31] ^= (unsigned char)(v >> 8);
        const uint4 w = *(uint4*)(q + (v >> 5 & 4));
        *(uint2*)(p + (v >> 9 & 6)) = make_uint2(w.x + w.w, w.y ^ w.z);
        const int short16 = ((short*)q)[v >> 13 & 15];
        unsigned shared, local, global;
        asm volatile("{.reg .pred p; isspacep.shared p, %1; selp.u32 %0, 1, 0, p;}" : "=r"(shared) : "l"(p));
        asm volatile("{.reg .pred p; isspacep.local p, %1; selp.u32 %0, 3, 0, p;}" : "=r"(local) : "l"(p));
        asm volatile("{.reg .pred p; isspacep.global p, %1; selp.u32 %0, 7, 0, p;}" : "=r"(global) : "l"(q));
        unsigned old = 0;
        if (which != 1) old = atomicAdd(p + (v >> 20 & 7), v | 1);
        sum = sum * 31 + v + (unsigned)short16 + shared + local + global + old;
        x = x * 0x9e3779b1u + sum + w.x;
    }
    for (int k = 0; k < 8; k++) sum = sum * 31 + own[k] + l[k] * 3 + far[k];
    out[t] = sum;
    out[t + 2048] = x;
}
