// Sparse rows: a loop whose length is data, and loads at loaded addresses.
#include "device.h"

GLOBAL void spmv(int rows, const int *__restrict start, const int *__restrict column, const float *__restrict value,
                 const float *__restrict x, float *__restrict y) {
    int row = index();
    if (row >= rows)
        return;
    float sum = 0;
    for (int i = start[row]; i < start[row + 1]; i++)
        sum += value[i] * x[column[i]];
    y[row] = sum;
}

GLOBAL void search(int n, int count, const int *__restrict sorted, const int *__restrict wanted, int *__restrict found) {
    int i = index();
    if (i >= count)
        return;
    int key = wanted[i], low = 0, high = n;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (sorted[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    found[i] = low;
}
