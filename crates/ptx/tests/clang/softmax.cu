// fp32: three passes over a row, exponentials, calls of a function that is not inlined.
#include "device.h"

SHARED float scratch[256];

__attribute__((device, noinline)) static float exponential(float x) {
    return __nvvm_ex2_approx_f(x * 1.44269504f);
}

GLOBAL LAUNCH(256) void softmax(int width, const float *__restrict in, float *__restrict out) {
    const float *row = in + (long)block() * width;
    float *result = out + (long)block() * width;
    float most = -__builtin_inff();
    for (int i = thread(); i < width; i += 256)
        most = __nvvm_fmax_f(most, row[i]);
    scratch[thread()] = most;
    barrier();
    for (int by = 128; by > 0; by /= 2) {
        if (thread() < by)
            scratch[thread()] = __nvvm_fmax_f(scratch[thread()], scratch[thread() + by]);
        barrier();
    }
    most = scratch[0];
    barrier();
    float sum = 0;
    for (int i = thread(); i < width; i += 256)
        sum += exponential(row[i] - most);
    scratch[thread()] = sum;
    barrier();
    for (int by = 128; by > 0; by /= 2) {
        if (thread() < by)
            scratch[thread()] += scratch[thread() + by];
        barrier();
    }
    float scale = 1.0f / scratch[0];
    for (int i = thread(); i < width; i += 256)
        result[i] = exponential(row[i] - most) * scale;
}
