// A loop of two paths and four instructions: the dearest there is for a counter in memory.
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) static unsigned steps(unsigned long n) {
    unsigned count = 0;
    while (n != 1) {
        if (n & 1) { n = 3 * n + 1; __asm__ volatile("" : "+r"(n)); } else { n >>= 1; __asm__ volatile("" : "+r"(n)); }
        count++;
    }
    return count;
}
int main(int argc, char **argv) {
    long size = argc > 1 ? atol(argv[1]) : 1;
    unsigned long sum = 0;
    for (unsigned long n = 1; n < 1000000ul * size; n++) sum += steps(n);
    printf("%lu\n", sum);
}
