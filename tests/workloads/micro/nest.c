// Three loops in one another, the innermost short: a table filled by dynamic programming.
#include <stdio.h>
#include <stdlib.h>
static unsigned short table[1001][1001];
__attribute__((noinline)) static int common(const char *a, int n, const char *b, int m) {
    for (int i = 1; i <= n; i++)
        for (int j = 1; j <= m; j++)
            if (a[i - 1] == b[j - 1]) table[i][j] = table[i - 1][j - 1] + 1;
            else table[i][j] = table[i - 1][j] > table[i][j - 1] ? table[i - 1][j] : table[i][j - 1];
    return table[n][m];
}
int main(int argc, char **argv) {
    long size = argc > 1 ? atol(argv[1]) : 1;
    static char a[1000], b[1000];
    unsigned seed = 7;
    long sum = 0;
    for (long round = 0; round < 40 * size; round++) {
        for (int i = 0; i < 1000; i++) {
            seed = seed * 1664525u + 1013904223u;
            a[i] = "acgt"[seed >> 30];
            b[i] = "acgt"[seed >> 28 & 3];
        }
        sum += common(a, 1000, b, 1000);
    }
    printf("%ld\n", sum);
}
