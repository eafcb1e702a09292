// Stores and loads of shared memory that overlap in part, in dynamic shared memory, with offsets a scheduler might think apart: STS, LDS with immediate offsets and registers, LDS.64 over two STS, barriers between rounds, transposes with conflicts.
// launch: grid=8 block=256 smem=16384
// input: random
extern __shared__ __align__(16) unsigned char dynamic[];
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x, i = threadIdx.x;
    unsigned* s = (unsigned*)dynamic;
    volatile unsigned* v = s + 2048;
    unsigned a = in[t], b = in[t + 2048], sum = 0;
    for (int r = 0; r < 4; r++) {
        s[i] = a;
        s[i + 256] = b;
        s[i * 2 + 512] = a ^ b;
        s[i * 2 + 513] = a + b;
        const uint2 own = *(uint2*)(s + i * 2 + 512);
        ((unsigned short*)s)[i * 4 + 1025] = (unsigned short)(own.x + r);
        const unsigned merged = s[i * 2 + 512];
        *(unsigned char*)(s + i * 2 + 513) = (unsigned char)merged;
        const uint2 again = merged & 1 ? *(uint2*)(s + i * 2 + 512) : own;
        v[i] = again.y;
        v[i + 256] = v[i] + merged;
        __syncthreads();
        const unsigned x = s[i ^ 37], y = s[256 + ((i * 32 + (i >> 3)) & 255)], z = v[255 - i], w = v[256 + (i * 7 & 255)];
        const uint4 q = *(uint4*)(s + (i * 4 & 1020));
        __syncthreads();
        sum = sum * 31 + x + (y ^ z) + w * 3 + (q.x ^ q.w) + again.x;
        a = a * 5 + y + q.y;
        b = (b << 9 | b >> 23) ^ (x + z + q.z);
    }
    out[t] = sum;
    out[t + 2048] = a;
    out[t + 4096] = b;
}
