// Simulates N events of a queue with 4,096 events, in the order of their random times. The library
// removes an event by `std::__adjust_heap`.
#include "random.h"
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <queue>
#include <vector>

int main(int, char **words) {
  std::priority_queue<uint64_t, std::vector<uint64_t>, std::greater<uint64_t>> events;
  for (int i = 0; i < 4096; i++)
    events.push(random_word() >> 40);
  unsigned long sum = 0;
  for (long i = atol(words[1]); i > 0; i--) {
    uint64_t now = events.top();
    events.pop();
    sum += now;
    events.push(now + (random_word() >> 40));
  }
  printf("%lu\n", sum);
}
