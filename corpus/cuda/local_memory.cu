// Local memory: an array indexed at run time, and more live values than registers.
extern "C" __global__ void local_array(const int* __restrict__ in, int* __restrict__ out, int count) {
    int stack[32], top = 0, visited = 0;
    const int root = blockIdx.x * blockDim.x + threadIdx.x;
    if (root >= count) return;
    stack[top++] = root;
    while (top > 0) {
        const int node = stack[--top];
        ++visited;
        const int left = in[2 * node], right = in[2 * node + 1];
        if (left >= 0 && top < 31) stack[top++] = left;
        if (right >= 0 && top < 31) stack[top++] = right;
    }
    out[root] = visited;
}

extern "C" __global__ void __launch_bounds__(1024, 2) spills(const float* __restrict__ in, float* __restrict__ out, int count) {
    float value[48];
#pragma unroll
    for (int i = 0; i < 48; ++i) value[i] = in[i * count + threadIdx.x];
    for (int round = 0; round < count; ++round)
#pragma unroll
        for (int i = 0; i < 48; ++i) value[i] = fmaf(value[(i + 7) % 48], value[(i + 31) % 48], value[i]);
#pragma unroll
    for (int i = 0; i < 48; ++i) out[i * count + threadIdx.x] = value[i];
}
