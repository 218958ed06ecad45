// `fact` of Burger and Dybvig (1998, figures 2 and 3): fact 5 is left early by `done`, so no multiplication ever runs.
//#[exits] expect-calls fact 5
//#[exits] expect-edge fact test base 1
//#[exits] expect-edge fact test recurse 4
//#[exits] expect-edge fact recurse multiply 0
//#expect-left recurse 4
//#expect-left base 1
// Without exit edges the frames that were left don't count.
//#[paths closed] expect-calls fact 0
// The same where `done` returns: 120, and nobody leaves.
//#expect-calls whole 5
//#expect-edge whole whole_test whole_base 1
//#expect-edge whole whole_test whole_recurse 4
//#expect-edge whole whole_recurse whole_multiply 4
//#expect-left whole_recurse 0
//#expect-left whole_base 0
//#expect-left caught -1
//#open longjmp
#include "marks.h"
#include <setjmp.h>

// One instruction of its own, in the block where it stands.
#define HERE(n) __asm__ volatile("# here %0" : : "i"(n))

static jmp_buf top;
static volatile long result;

KEPT long leave(long value) {
  result = value;
  longjmp(top, 1);
}

KEPT long give(long value) {
  MARK(1);
  return value;
}

static long (*volatile leaving)(long) = leave, (*volatile giving)(long) = give;

KEPT long fact(long n, long (*done)(long)) {
  if (n < 2) { // @test
    long one = done(1); // @base
    HERE(2);
    return one;
  }
  long rest = fact(n - 1, done); // @recurse
  if (rest != 0)
    HERE(3); // @multiply
  return n * rest;
}

KEPT long whole(long n, long (*done)(long)) {
  if (n < 2) { // @whole_test
    long one = done(1); // @whole_base
    HERE(2);
    return one;
  }
  long rest = whole(n - 1, done); // @whole_recurse
  if (rest != 0)
    HERE(3); // @whole_multiply
  return n * rest;
}

int main(void) {
  if (setjmp(top) == 0) // @caught
    fact(5, leaving);
  printf("%ld %ld\n", result, whole(5, giving));
}
