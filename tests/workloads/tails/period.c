#include <stdio.h>
#include <stdlib.h>
static int next[256];
__attribute__((noinline)) unsigned walk(unsigned n, const unsigned char *kinds, unsigned *out) {
    unsigned at = 0, a = 1, b = 2;
    for (unsigned i = 0; i < n; i++) {
        if (kinds[at]) { a = a * 31 + i; out[0] += a >> 3; }
        else { b = b * 17 ^ i; out[1] += b >> 5; }
        at = next[at];
    }
    return a ^ b;
}
int main(int argc, char **argv) {
    unsigned char kinds[256];
    unsigned out[2] = {0};
    for (int i = 0; i < 256; i++) { kinds[i] = i & 1; next[i] = (i + 1) & 255; }
    printf("%u", walk(atoi(argv[1]), kinds, out));
    printf(" %u %u\n", out[0], out[1]);
}
