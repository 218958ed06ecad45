// Loops of every shape: nested, several latches, a break out of two, zero turns, a loop headed by the entry's block.
//#expect-calls nested 3
//#expect-runs inner 300
//#expect-runs skipped 50
//#expect-runs latch_a 31
//#expect-runs latch_b 69
//#expect-runs found 2
//#levels O0 O1
#include "marks.h"
#include <stdlib.h>

KEPT void nested(int n) {
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < 15; j++)
      MARK(1); // @inner
  }
}

KEPT void latches(int n) {
  int i = 0;
  while (i < n) {
    i++;
    if (i % 3 == 0) {
      MARK(2); // @skipped
      continue;
    }
    if (i % 5 == 0 || i % 7 == 0) {
      MARK(3); // @latch_a
      continue;
    }
    MARK(4); // @latch_b
  }
}

KEPT int search(int wanted) {
  for (int i = 0; i < 20; i++)
    for (int j = 0; j < 20; j++)
      if (i * j == wanted) {
        MARK(5); // @found
        goto out;
      }
  return 0;
out:
  return 1;
}

KEPT int half(int n) { return n / 2; }

// A loop and a condition on one line; a statement over two lines that comes back to the first.
KEPT int one_line(int n) {
  int odd = 0;
  for (int i = 0; i < n; i++) if (i & 1) odd++;
  int all = half(n) +
            half(2 * n);
  all += abs(odd) +
         half(3 * n);
  return all;
}

int main(void) {
  nested(10);
  nested(10);
  latches(150);
  nested(0);
  printf("%d\n", search(72) + search(361) + search(999) + one_line(100));
}
