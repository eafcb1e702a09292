// fp32: reciprocal square roots in a loop over shared memory, unrolled.
#include "device.h"

SHARED float4 tile[128];

GLOBAL LAUNCH(128) void nbody(int tiles, const float4 *__restrict bodies, float4 *__restrict forces, float soft) {
    float4 own = bodies[index()];
    float x = 0, y = 0, z = 0;
    for (int t = 0; t < tiles; t++) {
        tile[thread()] = bodies[t * 128 + thread()];
        barrier();
#pragma unroll 8
        for (int i = 0; i < 128; i++) {
            float4 other = tile[i];
            float dx = other.x - own.x, dy = other.y - own.y, dz = other.z - own.z;
            float distance = dx * dx + dy * dy + dz * dz + soft;
            float inverse = __nvvm_rsqrt_approx_f(distance);
            float weight = other.w * inverse * inverse * inverse;
            x += weight * dx;
            y += weight * dy;
            z += weight * dz;
        }
        barrier();
    }
    float4 force = {x, y, z, 0};
    forces[index()] = force;
}
