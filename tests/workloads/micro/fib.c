// Recursion: entering and returning.
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) static unsigned fib(unsigned n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
int main(int argc, char **argv) {
    long size = argc > 1 ? atol(argv[1]) : 1;
    unsigned sum = 0;
    for (long i = 0; i < size; i++) sum += fib(36 + (i & 1));
    printf("%u\n", sum);
}
