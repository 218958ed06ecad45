// A loop entered at two places, and jumps into the middle of nested ones.
//#expect-calls two_heads 200
//#[O0] expect-runs left 1000
//#[O0] expect-runs right 1000
#include "marks.h"

KEPT int two_heads(int at_right, int turns) {
  if (at_right)
    goto right;
left:
  MARK(1); // @left
  if (turns-- <= 0)
    return 1;
right:
  MARK(2); // @right
  if (turns-- <= 0)
    return 2;
  goto left;
}

KEPT int duff(int count) {
  int n = (count + 3) / 4, done = 0;
  switch (count % 4) {
    do {
    case 0: MARK(3); done++; // fallthrough
    case 3: MARK(4); done++; // fallthrough
    case 2: MARK(5); done++; // fallthrough
    case 1: MARK(6); done++;
    } while (--n > 0);
  }
  return done;
}

int main(void) {
  int sum = 0;
  for (int i = 0; i < 100; i++)
    sum += two_heads(0, 9) + two_heads(1, 9);
  for (int i = 1; i < 30; i++)
    sum += duff(i);
  printf("%d\n", sum);
}
