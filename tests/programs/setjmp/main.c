// setjmp returns again and again: from the same function, from deep below, in a loop.
//#expect-calls thrower 40
//#expect-runs caught 40
//#expect-runs finished 40
//#expect-runs never 0
//#open longjmp
#include "marks.h"
#include <setjmp.h>

static jmp_buf where;

KEPT int deeper(int n) {
  MARK(1);
  if (n == 0)
    longjmp(where, 7);
  return deeper(n - 1) + 1;
}

KEPT int thrower(int n) {
  volatile int tries = 0;
  int code = setjmp(where);
  if (code == 0) {
    tries++;
    if (n % 4 == 3)
      longjmp(where, 9);
    MARK(2);
    deeper(n % 4);
    MARK(100); // @never
  } else {
    MARK(code); // @caught
  }
  return tries; // @finished
}

KEPT int again(int times) {
  volatile int count = 0;
  setjmp(where);
  count++;
  if (count < times)
    longjmp(where, 1);
  return count;
}

int main(void) {
  int sum = 0;
  for (int i = 0; i < 40; i++)
    sum += thrower(i);
  printf("%d %d %ld\n", sum, again(25), mark_sink);
}
