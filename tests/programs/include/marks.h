// What the C and C++ programs of the tests share: functions that stay, lines that stay, counts said aloud.
#ifndef MARKS_H
#define MARKS_H
#include <stdio.h>

#define KEPT __attribute__((noinline))

static volatile long mark_sink __attribute__((unused));
// A line that no optimiser removes, merges with another or moves across one: no two of these assembly lines are equal.
#define MARK(n)                                                                                                        \
  do {                                                                                                                 \
    mark_sink += (n);                                                                                                  \
    __asm__ volatile("# line %0" : : "i"(__LINE__));                                                                   \
  } while (0)

// Tells the tests what they can't know before the run.
#define SAY_CALLS(name, n) fprintf(stderr, "#calls %s %ld\n", name, (long)(n))

#endif
