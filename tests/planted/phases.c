// A loop over a function of many branches. In some phases its data is always the same, in others it is random: each turn of the
// loop is the same path, and takes longer where the processor guesses wrong.
#include "steady.h"
#include <stdio.h>

#define HERE(n) __asm__ volatile("# here %0" : : "i"(n))
#define BRANCH(bit)                                                                                                                \
  if (x >> bit & 1) {                                                                                                              \
    HERE(2 * bit);                                                                                                                 \
    sum += 3 + bit;                                                                                                                \
  } else {                                                                                                                         \
    HERE(2 * bit + 1);                                                                                                             \
    sum ^= 5 + bit;                                                                                                                \
  }

__attribute__((noinline)) static long weigh(unsigned x, long sum) {
  BRANCH(0) BRANCH(1) BRANCH(2) BRANCH(3) BRANCH(4) BRANCH(5)
  BRANCH(6) BRANCH(7) BRANCH(8) BRANCH(9) BRANCH(10) BRANCH(11)
  return sum;
}

__attribute__((noinline)) static long classify(const unsigned *data, long size, long turns) {
  long sum = 0;
  for (long i = 0; i < turns; i++)
    sum = weigh(data[i & (size - 1)], sum); // planted
  return sum;
}

#define SIZE (1 << 16)
static unsigned same[SIZE], random_data[SIZE];

int main(void) {
  unsigned long state = 1;
  for (int i = 0; i < SIZE; i++) {
    state = state * 6364136223846793005ul + 1442695040888963407ul;
    random_data[i] = state >> 40;
    same[i] = 0x555;
  }
  long sum = 0;
  for (int phase = 0; phase < 20; phase++) {
    sum += classify(same, SIZE, 1500000);
    sum += classify(random_data, SIZE, 500000);
  }
  printf("%ld %lu\n", sum, controls());
  return 0;
}
