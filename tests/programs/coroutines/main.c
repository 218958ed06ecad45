// Generators on stacks of their own, entered and left in the middle of recursive functions with loops; one is never finished.
//#glibc musl has no makecontext
//#[O0 exits] expect-calls visit 1_098
//#[exits] expect-calls yield 1_093
//#expect-calls take 1_096
//#open one generator stays where it is, getcontext returns twice
#include "marks.h"
#include <ucontext.h>

struct generator {
  ucontext_t here, caller;
  int value, depth, is_done;
  char stack[1 << 17];
};

static struct generator all[4];
static struct generator *running;

KEPT void yield(int value) {
  struct generator *self = running;
  self->value = value;
  swapcontext(&self->here, &self->caller);
}

// A tree of three children a node: yields between loops over them.
KEPT int visit(int depth, int number) {
  int sum = number;
  for (int i = 0; i < 3; i++) {
    if (i == 1)
      yield(sum);
    if (depth > 0)
      sum += visit(depth - 1, 3 * number + i) & 7;
    else
      MARK(sum);
  }
  return sum;
}

static void body(int which) {
  struct generator *self = &all[which];
  visit(self->depth, which);
  self->is_done = 1;
}

KEPT int take(struct generator *from) {
  running = from;
  swapcontext(&from->caller, &from->here);
  return from->is_done ? 0 : from->value;
}

int main(void) {
  unsigned sum = 0, taken = 0;
  for (int i = 0; i < 4; i++) {
    struct generator *one = &all[i];
    one->depth = 5;
    getcontext(&one->here);
    one->here.uc_stack.ss_sp = one->stack;
    one->here.uc_stack.ss_size = sizeof one->stack;
    one->here.uc_link = &one->caller;
    makecontext(&one->here, (void (*)(void))body, 1, i);
  }
  for (int turn = 0; turn < 1200; turn++) {
    // Never the last: it was begun, and stays there.
    struct generator *one = &all[turn < 4 ? turn : turn % 3];
    if (one->is_done)
      continue;
    sum = sum * 31 + take(one);
    taken++;
  }
  printf("%u of %u\n", sum, taken);
}
