// Two stacks in one thread, swapped by swapcontext in the middle of paths.
//#glibc musl has no makecontext
//#expect-calls step 40
//#expect-calls one 1
//#open two() never finishes, getcontext returns twice
#include "marks.h"
#include <ucontext.h>

static ucontext_t home, first, second;

KEPT void step(int n) {
  if (n & 1)
    MARK(1);
}

KEPT void one(void) {
  for (int i = 0; i < 20; i++) {
    step(i);
    swapcontext(&first, &second);
  }
}

KEPT void two(void) {
  for (;;) {
    step(1);
    swapcontext(&second, &first);
  }
}

int main(void) {
  static char stacks[2][1 << 16];
  getcontext(&first);
  first.uc_stack.ss_sp = stacks[0];
  first.uc_stack.ss_size = sizeof stacks[0];
  first.uc_link = &home;
  makecontext(&first, one, 0);
  getcontext(&second);
  second.uc_stack.ss_sp = stacks[1];
  second.uc_stack.ss_size = sizeof stacks[1];
  makecontext(&second, two, 0);
  swapcontext(&home, &first);
  puts("home");
}
