// What the C and C++ programs of the tests share: functions that stay, lines that stay, counts said aloud.
#ifndef MARKS_H
#define MARKS_H
#include <stdio.h>

#define KEPT __attribute__((noinline))

static volatile long mark_sink __attribute__((unused));
// A line that no optimiser removes, merges or moves across another.
#define MARK(n) (mark_sink += (n))

// Tells the tests what they can't know before the run.
#define SAY_CALLS(name, n) fprintf(stderr, "#calls %s %ld\n", name, (long)(n))

#endif
