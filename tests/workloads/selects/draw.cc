// Draws N numbers from a distribution with 4,096 weights. The library finds each number by
// `std::lower_bound`.
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

int main(int, char **words) {
  std::minstd_rand random(7);
  std::vector<double> weights;
  for (int i = 0; i < 4096; i++)
    weights.push_back(1 + random() % 1000);
  std::discrete_distribution<int> draw(weights.begin(), weights.end());
  unsigned long sum = 0;
  for (long i = atol(words[1]); i > 0; i--)
    sum = sum * 31 + draw(random);
  printf("%lu\n", sum);
}
