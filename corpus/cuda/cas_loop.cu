// Compare-and-swap loops: a floating-point maximum, a lock-free stack, a ticket lock.
__device__ inline void atomic_max(float* to, float value) {
    int* word = reinterpret_cast<int*>(to);
    int seen = *word;
    while (__int_as_float(seen) < value) {
        const int before = atomicCAS(word, seen, __float_as_int(value));
        if (before == seen) break;
        seen = before;
    }
}

extern "C" __global__ void maxima(const float* __restrict__ in, const int* __restrict__ group, float* out, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) atomic_max(&out[group[i]], in[i]);
}

extern "C" __global__ void push(unsigned long long* head, unsigned long long* next, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    unsigned long long old = *head, seen;
    do {
        seen = old;
        next[i] = seen;
        __threadfence();
        old = atomicCAS(head, seen, (seen & 0xffffffff00000000ull) + (1ull << 32) + i);
    } while (old != seen);
}

extern "C" __global__ void locked(int* lock, volatile int* shared_counter, int rounds) {
    for (int round = 0; round < rounds; ++round) {
        bool done = false;
        while (!done) {
            if (atomicExch(lock, 1) == 0) {
                *shared_counter = *shared_counter + 1;
                __threadfence();
                atomicExch(lock, 0);
                done = true;
            }
        }
    }
}
