// Takes the variable with the highest activity out of MiniSat's queue N times, and puts it back with
// a lower activity.
#include "minisat/mtl/Heap.h"
#include "random.h"
#include <cstdio>
#include <cstdlib>

struct HigherActivity {
  const Minisat::vec<double> &activity;
  bool operator()(int x, int y) const { return activity[x] > activity[y]; }
};

int main(int, char **words) {
  Minisat::vec<double> activity;
  for (int i = 0; i < 4096; i++)
    activity.push(double(random_word() >> 11));
  Minisat::Heap<int, HigherActivity> order(HigherActivity{activity});
  for (int i = 0; i < 4096; i++)
    order.insert(i);
  unsigned long sum = 0;
  for (long i = atol(words[1]); i > 0; i--) {
    int variable = order.removeMin();
    sum = sum * 31 + variable;
    activity[variable] *= double(random_word() >> 11) / (1ull << 53);
    order.insert(variable);
  }
  printf("%lu\n", sum);
}
