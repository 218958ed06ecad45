// Two binary searches. `find_turn` searches for eight keys in turn, so the comparisons before its
// branch tell the outcome. `find_random` searches for random keys. A select makes the first slower,
// and the second faster.
#include <stdio.h>
#include <stdlib.h>
enum { LENGTH = 4096 };
static unsigned table[LENGTH];
__attribute__((noinline)) static unsigned find_turn(unsigned key) {
    unsigned low = 0, high = LENGTH;
    while (high - low > 1) {
        unsigned middle = (low + high) / 2;
        if (table[middle] <= key)
            low = middle;
        else
            high = middle;
    }
    return low;
}
__attribute__((noinline)) static unsigned find_random(unsigned key) {
    unsigned low = 0, high = LENGTH;
    while (high - low > 1) {
        unsigned middle = (low + high) / 2;
        if (table[middle] <= key)
            low = middle;
        else
            high = middle;
    }
    return low;
}
int main(int count, char **words) {
    if (count < 3) return 2;
    long turns = atol(words[1]), randoms = atol(words[2]);
    unsigned keys[8] = {0};
    unsigned long state = 12345, sum = 0;
    for (unsigned i = 0; i < LENGTH; i++)
        table[i] = i * 1048573u;
    for (long i = 0; i < turns || i < randoms; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        if (i < 8) keys[i] = state >> 32;
    }
    for (long i = 0; i < turns; i++) sum += find_turn(keys[i % 8]);
    for (long i = 0; i < randoms; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        sum += find_random(state >> 32);
    }
    printf("%lu\n", sum);
}
