// Eight branches in a row in a loop: 256 paths.
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) static unsigned walk(unsigned x, long n) {
    unsigned y = 0;
    for (long i = 0; i < n; i++) {
        x = x * 1664525u + 1013904223u;
#define STEP(bit, op) if (x >> bit & 1) { y = op; __asm__ volatile("" : "+r"(y)); }
        STEP(31, y + x) STEP(30, y ^ i) STEP(29, y * 5) STEP(28, y - x)
        STEP(27, y >> 1) STEP(26, y | 64) STEP(25, y + 7) STEP(24, ~y)
    }
    return y;
}
int main(int argc, char **argv) {
    long size = argc > 1 ? atol(argv[1]) : 1;
    printf("%u\n", walk(5, 6000000 * size));
}
