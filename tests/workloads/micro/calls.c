// A small function called very often: what entering costs.
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) static unsigned mix(unsigned x) {
    if (x & 64) return x * 5 + 1;
    return x ^ x >> 3;
}
int main(int argc, char **argv) {
    long size = argc > 1 ? atol(argv[1]) : 1;
    unsigned x = 1;
    for (long i = 0; i < 80000000 * size; i++) x = mix(x + (unsigned)i);
    printf("%u\n", x);
}
