// Sorts N arrays of 16,384 random numbers. `std::stable_sort` merges.
#include "random.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int, char **words) {
  std::vector<uint32_t> numbers(1 << 14);
  unsigned long sum = 0;
  for (long i = atol(words[1]); i > 0; i--) {
    for (uint32_t &number : numbers)
      number = random_word();
    std::stable_sort(numbers.begin(), numbers.end());
    sum += numbers[i & 4095];
  }
  printf("%lu\n", sum);
}
