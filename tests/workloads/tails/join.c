#include <stdio.h>
#include <stdlib.h>
// the branch at the join is decided by the way to it; work between keeps the compiler from knowing.
static unsigned table[4096];
__attribute__((noinline)) unsigned step(unsigned x, unsigned *log) {
    unsigned kind;
    if (x % 3 == 0) { kind = x & 7 ? table[x & 4095] & 1 : 0; log[0] += x; log[2] ^= x; }
    else { kind = 4 + (table[x & 4095] & 1); log[1] += x; log[3] ^= x * 3; }
    log[4] += kind * 5 + (x >> 3);           // the join
    if (kind >= 4) { log[5] = log[5] * 31 + x; return x ^ log[5]; }
    log[6] = log[6] * 17 + x;
    return x + log[6];
}
int main(int argc, char **argv) {
    unsigned n = atoi(argv[1]), log[8] = {0}, sum = 0, x = 12345;
    for (int i = 0; i < 4096; i++) table[i] = i * 2654435761u >> 7;
    for (unsigned i = 0; i < n; i++) { x = x * 1664525 + 1013904223; sum += step(x >> 8, log); }
    printf("%u %u\n", sum, log[4]);
}
