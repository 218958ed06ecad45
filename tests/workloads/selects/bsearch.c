// Looks for N numbers in a table of 4,096 numbers, which has every other one. The header of glibc has
// the code of `bsearch`.
#include "random.h"
#include <stdio.h>
#include <stdlib.h>

static int compare(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

int main(int count, char **words) {
  static uint32_t table[4096];
  for (int i = 0; i < 4096; i++)
    table[i] = random_word() >> 40;
  qsort(table, 4096, sizeof *table, compare);
  unsigned long sum = 0;
  for (long i = atol(words[1]); i > 0; i--) {
    uint32_t key = random_word() >> 40;
    if (i & 1)
      key = table[key & 4095];
    uint32_t *found = bsearch(&key, table, 4096, sizeof *table, compare);
    if (found)
      sum += found - table;
  }
  printf("%lu\n", sum);
}
