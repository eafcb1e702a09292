// Shared memory with padding; blocks of 32 by 8 threads.
#include "device.h"

SHARED float cells[32][33];

GLOBAL void transpose(int width, int height, const float *__restrict in, float *__restrict out) {
    int x = block() * 32 + thread(), y = block_y() * 32 + thread_y();
#pragma unroll
    for (int i = 0; i < 32; i += 8)
        if (x < width && y + i < height)
            cells[thread_y() + i][thread()] = in[(y + i) * width + x];
    barrier();
    x = block_y() * 32 + thread();
    y = block() * 32 + thread_y();
#pragma unroll
    for (int i = 0; i < 32; i += 8)
        if (x < height && y + i < width)
            out[(y + i) * height + x] = cells[thread()][thread_y() + i];
}
