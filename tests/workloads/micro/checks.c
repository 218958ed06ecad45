// Base64 and CRC by bits: short loops with a known number of turns beside ones without.
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) static unsigned crc(const unsigned char *p, long n) {
    unsigned c = ~0u;
    for (long i = 0; i < n; i++) {
        c ^= p[i];
        for (int k = 0; k < 8; k++) {
            if (c & 1) { c >>= 1; c ^= 0xEDB88320u; __asm__ volatile("" : "+r"(c)); } else { c >>= 1; __asm__ volatile("" : "+r"(c)); }
        }
    }
    return ~c;
}
__attribute__((noinline)) static long encode(char *to, const unsigned char *p, long n) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *out = to;
    for (; n > 2; n -= 3, p += 3) {
        unsigned x = p[0] << 16 | p[1] << 8 | p[2];
        *out++ = digits[x >> 18];
        *out++ = digits[x >> 12 & 63];
        *out++ = digits[x >> 6 & 63];
        *out++ = digits[x & 63];
    }
    return out - to;
}
int main(int argc, char **argv) {
    long size = argc > 1 ? atol(argv[1]) : 1;
    static unsigned char text[30000];
    static char out[40000];
    unsigned sum = 0;
    for (int i = 0; i < 30000; i++) text[i] = i * 7 >> 3;
    for (long round = 0; round < 150 * size; round++) {
        text[round % 30000]++;
        sum += crc(text, 30000);
        for (int k = 0; k < 10; k++) sum += encode(out, text, 30000) + out[round % 40000];
    }
    printf("%u\n", sum);
}
