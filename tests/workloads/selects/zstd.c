// Makes N Huffman codes for random frequencies by zstd.
#include "common/huf.h"
#include "random.h"
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **words) {
  static unsigned frequencies[256];
  static uint64_t space[HUF_CTABLE_WORKSPACE_SIZE / 8 + 1];
  static HUF_CElt codes[HUF_CTABLE_SIZE_ST(255)];
  unsigned long sum = 0;
  for (long i = atol(words[1]); i > 0; i--) {
    for (int k = 0; k < 256; k++) {
      uint64_t word = random_word();
      frequencies[k] = 1 + ((word >> 40) % 4096 >> (word & 7));
    }
    sum = sum * 31 + HUF_buildCTable_wksp(codes, frequencies, 255, 11, space, sizeof space);
    for (int k = 0; k < 256; k++)
      sum = sum * 31 + codes[k + 1];
  }
  printf("%lu\n", sum);
}
