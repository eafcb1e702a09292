// Recursion with live values over each call: a tree walk, quicksort on a local array, two functions that call each other: CALL.REL.NOINC, RET.REL.NODEC, STL and LDL of saved registers, BMOV.32.CLEAR, divergent depths. Fits the default stack.
// input: random
__device__ __noinline__ unsigned walk(unsigned x, unsigned depth) {
    if (depth == 0 || (x & 15) == 3) return x * 3 + depth;
    const unsigned left = walk(x * 0x01000193u + 1, depth - 1);
    const unsigned right = left & 1 ? walk(x ^ left, depth - 1) : left >> 3;
    return left * 5 + (right ^ x) + depth;
}
// Recurs into the smaller part alone, so that the stack stays small.
__device__ __noinline__ void sort(unsigned* a, int low, int high) {
    while (low < high) {
        const unsigned pivot = a[(low + high) / 2];
        int i = low, j = high;
        while (i <= j) {
            while (a[i] < pivot) i++;
            while (a[j] > pivot) j--;
            if (i <= j) {
                const unsigned s = a[i];
                a[i++] = a[j];
                a[j--] = s;
            }
        }
        if (j - low < high - i) {
            sort(a, low, j);
            low = i;
        } else {
            sort(a, i, high);
            high = j;
        }
    }
}
__device__ __noinline__ float even(float x, int k);
__device__ __noinline__ float odd(float x, int k) { return k <= 0 ? x : even(x * 0.5f + 1.0f, k - 1) + x * 0.125f; }
__device__ __noinline__ float even(float x, int k) { return k <= 0 ? -x : odd(x - 0.25f, k - 2) * 0.75f; }

extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned a[16], sum = 0;
    for (int k = 0; k < 16; k++) a[k] = in[t + 2048 * k];
    sum = walk(a[0], 3 + (a[1] & 1));
    sort(a, 0, 15);
    for (int k = 0; k < 16; k++) sum = sum * 31 + a[k];
    out[t] = sum;
    out[t + 2048] = __float_as_uint(even((float)(a[7] & 255), 3 + (int)(a[3] & 3)));
}
