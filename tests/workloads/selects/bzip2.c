// Makes N Huffman codes for random frequencies by bzip2.
#include "bzlib_private.h"
#include "random.h"
#include <stdio.h>
#include <stdlib.h>

void bz_internal_error(int code) { exit(code); }

int main(int count, char **words) {
  Int32 frequencies[258];
  UChar lengths[258];
  unsigned long sum = 0;
  for (long i = atol(words[1]); i > 0; i--) {
    for (int k = 0; k < 258; k++) {
      uint64_t word = random_word();
      frequencies[k] = (word >> 40) % 4096 >> (word & 7);
    }
    BZ2_hbMakeCodeLengths(lengths, frequencies, 258, 17);
    for (int k = 0; k < 258; k++)
      sum = sum * 31 + lengths[k];
  }
  printf("%lu\n", sum);
}
