// Counting lines, words and characters with a state: a loop of several paths over bytes.
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) static unsigned long count(const unsigned char *text, long n, unsigned long *lines) {
    unsigned long words = 0, line = 0;
    int inside = 0;
    for (long i = 0; i < n; i++) {
        unsigned char c = text[i];
        if (c == '\n') line++;
        if (c == ' ' || c == '\n' || c == '\t') inside = 0;
        else if (!inside) { inside = 1; words++; }
    }
    *lines = line;
    return words;
}
int main(int argc, char **argv) {
    long size = argc > 1 ? atol(argv[1]) : 1;
    static unsigned char text[1 << 20];
    unsigned seed = 9;
    for (int i = 0; i < 1 << 20; i++) {
        seed = seed * 1664525u + 1013904223u;
        text[i] = "etaoin shrdlu\ncmf wyp vbgkq j xz"[seed >> 27];
    }
    unsigned long words = 0, lines = 0, sum = 0;
    for (long round = 0; round < 50 * size; round++) {
        text[round] ^= 1;
        words += count(text, 1 << 20, &lines);
        sum += lines;
    }
    printf("%lu %lu\n", words, sum);
}
