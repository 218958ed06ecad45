// Insertion sort of small arrays: an inner loop of one path and a few instructions.
#include <stdio.h>
#include <stdlib.h>
static unsigned seed = 1;
static unsigned next(void) { return seed = seed * 1664525u + 1013904223u; }
__attribute__((noinline)) static void sort(int *a, int n) {
    for (int i = 1; i < n; i++) {
        int x = a[i], j = i;
        while (j > 0 && a[j - 1] > x) { a[j] = a[j - 1]; j--; }
        a[j] = x;
    }
}
int main(int argc, char **argv) {
    long size = argc > 1 ? atol(argv[1]) : 1;
    static int a[1000];
    unsigned sum = 0;
    for (long round = 0; round < 600 * size; round++) {
        for (int i = 0; i < 1000; i++) a[i] = next() >> 8;
        sort(a, 1000);
        sum = sum * 31 + a[round % 1000];
    }
    printf("%u\n", sum);
}
