// Exceptions through frames with and without landing pads, rethrown, from destructors' scopes, across noexcept's edge.
//#expect-calls caught_here 15
//#expect-calls Guard::~Guard 85
//#expect-runs caught_int 8
//#expect-runs caught_string 7
//#expect-runs rethrown 15
//#open exceptions leave calls at the call that threw
#include "marks.h"
#include <stdexcept>
#include <string>
#include <vector>

struct Guard {
  KEPT ~Guard() { MARK(1); }
};

KEPT int thrower(int n) {
  Guard guard;
  if (n % 5 == 0)
    throw std::string("five");
  if (n % 4 == 0)
    throw n;
  return n;
}

KEPT int between(int n) { return thrower(n) + 1; }

KEPT int landing(int n) {
  Guard guard;
  return between(n) + 1;
}

KEPT void caught_here(int n) {
  try {
    throw n;
  } catch (int) {
    MARK(2);
  }
}

KEPT int level(int n) {
  try {
    return landing(n);
  } catch (...) {
    caught_here(n);
    MARK(3); // @rethrown
    throw;
  }
}

KEPT int outer(int n) {
  try {
    return level(n);
  } catch (int i) {
    MARK(4); // @caught_int
    return -i;
  } catch (const std::string &s) {
    MARK(5); // @caught_string
    return -(int)s.size();
  }
}

int main() {
  long sum = 0;
  for (int i = 0; i < 40; i++)
    sum += outer(i == 20 ? 3 : i);
  Guard guards[5];
  std::vector<int> v(3);
  try {
    sum += v.at(9);
  } catch (const std::out_of_range &) {
    sum += 1000;
  }
  printf("%ld\n", sum);
}
