// Gravitational accelerations; bodies in tiles of a block, the last tile partly filled.
extern "C" __global__ void kernel(const float4* bodies, float3* out, int n, float softening) {
    extern __shared__ float4 tile[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 me = i < n ? bodies[i] : make_float4(0, 0, 0, 0);
    float3 acc = make_float3(0, 0, 0);
    for (int base = 0; base < n; base += blockDim.x) {
        int j = base + threadIdx.x;
        tile[threadIdx.x] = j < n ? bodies[j] : make_float4(0, 0, 0, 0);
        __syncthreads();
#pragma unroll 8
        for (int t = 0; t < 64; t++) {
            float4 other = tile[t];
            float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
            float inv = rsqrtf(dx * dx + dy * dy + dz * dz + softening);
            float s = other.w * inv * inv * inv;
            acc.x += s * dx;
            acc.y += s * dy;
            acc.z += s * dz;
        }
        __syncthreads();
    }
    if (i < n) out[i] = acc;
}
