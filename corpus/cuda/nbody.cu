// Forces between all pairs of bodies: rsqrt in a tight loop over tiles of shared memory.
extern "C" __global__ void nbody(const float4* __restrict__ bodies, float3* __restrict__ forces, int count,
                                 float softening) {
    extern __shared__ float4 tile[];
    const int own = blockIdx.x * blockDim.x + threadIdx.x;
    const float4 me = bodies[own];
    float3 force = {0, 0, 0};
    for (int start = 0; start < count; start += blockDim.x) {
        tile[threadIdx.x] = bodies[start + threadIdx.x];
        __syncthreads();
#pragma unroll 8
        for (int i = 0; i < blockDim.x; ++i) {
            const float4 other = tile[i];
            const float x = other.x - me.x, y = other.y - me.y, z = other.z - me.z;
            const float inverse = rsqrtf(x * x + y * y + z * z + softening);
            const float scale = other.w * inverse * inverse * inverse;
            force.x += x * scale;
            force.y += y * scale;
            force.z += z * scale;
        }
        __syncthreads();
    }
    forces[own] = force;
}
