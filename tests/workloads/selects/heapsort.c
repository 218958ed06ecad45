// Sorts N arrays of 4,096 random numbers by the heap sort of libdeflate.
#include "lib/deflate_compress.c"
#include "random.h"
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **words) {
  static u32 numbers[4096];
  unsigned long sum = 0;
  for (long i = atol(words[1]); i > 0; i--) {
    for (int k = 0; k < 4096; k++)
      numbers[k] = random_word() >> 40;
    heap_sort(numbers, 4096);
    sum = sum * 31 + numbers[i & 4095];
  }
  printf("%lu\n", sum);
}
