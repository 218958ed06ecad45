// One small function called from several threads at once: `threads CALLS THREADS`, the calls shared out among them.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static long calls;
__attribute__((noinline)) static unsigned mix(unsigned x) {
    if (x & 64) return x * 5 + 1;
    return x ^ x >> 3;
}
static void *work(void *result) {
    unsigned x = 1;
    for (long i = 0; i < calls; i++) x = mix(x + (unsigned)i);
    *(unsigned *)result = x;
    return NULL;
}
int main(int argc, char **argv) {
    long all = argc > 1 ? atol(argv[1]) : 1000;
    int threads = argc > 2 ? atoi(argv[2]) : 2;
    static pthread_t ids[256];
    static unsigned results[256];
    unsigned sum = 0;
    if (threads < 1 || threads > 256) return 2;
    calls = all / threads;
    for (int i = 0; i < threads; i++)
        if (pthread_create(&ids[i], NULL, work, &results[i])) return 1;
    for (int i = 0; i < threads; i++) {
        pthread_join(ids[i], NULL);
        sum += results[i];
    }
    printf("%u\n", sum);
}
