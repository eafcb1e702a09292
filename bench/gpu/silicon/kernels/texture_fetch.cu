// Textures: fetches, samples with a level or gradients, gathers of four: TEX TEX.LL TLD.LZ TLD4 TXD
// texture: yes
#include "rare.cuh"
// The last 32 bytes of the input are handles: a line of all inputs, an image of 1024 by 1024 of them, the same as a surface, and a surface of 256 rows that
// becomes the last quarter of the output.
KERNEL kernel(PARAMS) {
    const u64 *handles = (const u64 *)(in + n - 8);
    cudaTextureObject_t line = handles[0], image = handles[1];
    u32 x = get(in, n, 0);
    Chains w(x);
    for (u32 r = 0; r < n >> 17; r++) {
        const float at = (float)(w.a & 1023) + 0.5f, row = (float)(w.b & 1023) + 0.5f;
        w.step(tex1Dfetch<u32>(line, (int)(w.c & (n / 2 - 1))));
        w.step(tex2D<u32>(image, at, row));
        const uint4 four = tex2Dgather<uint4>(image, at + 0.5f, row + 0.5f, 0);
        w.step(tex2DLod<u32>(image, row, at, 0.0f));
        w.step(tex2DGrad<u32>(image, row, at, make_float2(0.25f, 0.0f), make_float2(0.0f, 0.25f)));
        w.step(four.x ^ four.y * 3 ^ four.z * 5 ^ four.w * 7);
        x = mix(x, w.a);
    }
    out[gid()] = w.end() ^ x;
}
