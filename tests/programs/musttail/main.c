// A state machine of musttail calls, a million deep without a stack.
//#expect-calls even 500001
//#expect-calls odd 500000
//#expect-path even 1 entry stop exit
//#expect-path odd 499999 entry onward exit
//#uncounted gcc 12 has no musttail
#include "marks.h"

#define TAIL __attribute__((musttail)) return

static long even(long n, long sum);
static long odd(long n, long sum);

KEPT static long even(long n, long sum) {
  if (n == 0) {
    MARK(1); // @stop
    return sum;
  }
  TAIL odd(n - 1, sum + 2);
}

KEPT static long odd(long n, long sum) {
  if (n == 1) {
    MARK(2);
    TAIL even(n - 1, sum);
  }
  MARK(3); // @onward
  TAIL even(n - 1, sum + 1);
}

int main(void) { printf("%ld\n", even(1000000, 0)); }
