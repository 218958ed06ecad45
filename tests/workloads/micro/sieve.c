// The sieve of Eratosthenes and a product of matrices: counted loops of one path.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static unsigned char composite[1 << 20];
static double a[200][200], b[200][200], c[200][200];
__attribute__((noinline)) static int sieve(int n) {
    int primes = 0;
    memset(composite, 0, n);
    for (int i = 2; i < n; i++) {
        if (composite[i]) continue;
        primes++;
        for (long k = (long)i * i; k < n; k += i) composite[k] = 1;
    }
    return primes;
}
__attribute__((noinline)) static void product(void) {
    for (int i = 0; i < 200; i++)
        for (int j = 0; j < 200; j++) {
            double sum = 0;
            for (int k = 0; k < 200; k++) sum += a[i][k] * b[k][j];
            c[i][j] = sum;
        }
}
int main(int argc, char **argv) {
    long size = argc > 1 ? atol(argv[1]) : 1;
    long primes = 0;
    for (int i = 0; i < 200; i++) for (int j = 0; j < 200; j++) { a[i][j] = i - j; b[i][j] = i * j % 7; }
    for (long round = 0; round < 20 * size; round++) {
        primes += sieve((1 << 20) - (int)(round & 1023));
        product();
        a[round % 200][3] += c[5][round % 200] / 1e9;
    }
    printf("%ld %f\n", primes, c[7][9]);
}
