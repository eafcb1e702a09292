// Local memory: an array with an index that is data, a switch, selects.
#include "device.h"

GLOBAL void interpret(int steps, const int *__restrict code, const float *__restrict in, float *__restrict out) {
    float stack[16];
    int top = 0;
    stack[0] = in[index()];
    for (int i = 0; i < steps; i++) {
        int word = code[i];
        switch (word & 7) {
        case 0: stack[(top + 1) & 15] = stack[top]; top = (top + 1) & 15; break;
        case 1: top = (top + 15) & 15; stack[top] += stack[(top + 1) & 15]; break;
        case 2: top = (top + 15) & 15; stack[top] *= stack[(top + 1) & 15]; break;
        case 3: stack[top] = -stack[top]; break;
        case 4: stack[top] = __nvvm_fabs_f(stack[top]); break;
        case 5: stack[top] = stack[top] > 0 ? stack[top] : 0; break;
        case 6: stack[top] = __nvvm_sqrt_rn_f(stack[top]); break;
        default: stack[top] = (float)(word >> 3); break;
        }
    }
    out[index()] = stack[top];
}
