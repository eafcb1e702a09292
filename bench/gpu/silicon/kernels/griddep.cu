// The two instructions of dependent launches, without one: ACQBULK PREEXIT
#include "rare.cuh"
KERNEL kernel(PARAMS) {
    u32 x = tid() * 77 + blockIdx.x;
    Chains w(x);
    w.step(x);
    asm volatile("griddepcontrol.wait;" ::: "memory");
    u32 a = get(in, n, 0), b = get(in, n, 1);
    w.step(a);
    out[65536 + gid()] = w.a;
    w.step(b);
    if (a & 1) {
        asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
        w.step(a ^ b);
    }
    asm volatile("griddepcontrol.wait;" ::: "memory");
    w.step(in[(w.a >> 12) & (n - 1)]);
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
    out[gid()] = w.end();
}
