// A binary search with random keys (`random N`), or with eight keys in turn (`turn N`). Either side
// of the search's branch is taken about equally often with both. With eight keys in turn, the
// comparisons before the branch tell its outcome. With random keys, nothing does.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { LENGTH = 4096 };
static unsigned table[LENGTH];
__attribute__((noinline)) static unsigned find(unsigned key) {
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
    int in_turn = strcmp(words[1], "turn") == 0;
    long searches = atol(words[2]);
    unsigned keys[8] = {0};
    unsigned long state = 12345, sum = 0;
    for (unsigned i = 0; i < LENGTH; i++)
        table[i] = i * 1048573u;
    for (long i = 0; i < searches; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        if (i < 8) keys[i] = state >> 32;
        sum += find(in_turn ? keys[i % 8] : state >> 32);
    }
    printf("%lu\n", sum);
}
