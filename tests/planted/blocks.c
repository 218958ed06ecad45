// A system call that returns at once, most times; now and then it has to wait, if only for a nanosecond.
#define _GNU_SOURCE
#include "steady.h"
#include <poll.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>

#define SIZE 1024
static struct timespec wait[SIZE];

__attribute__((noinline)) static long polls(long turns) {
  long ready = 0;
  for (long i = 0; i < turns; i++)
    ready += ppoll(0, 0, &wait[i & (SIZE - 1)], 0); // planted
  return ready;
}

int main(void) {
  prctl(PR_SET_TIMERSLACK, 1ul, 0, 0, 0); // no longer than asked for
  unsigned long state = 1;
  for (int i = 0; i < SIZE; i++) {
    state = state * 6364136223846793005ul + 1442695040888963407ul;
    wait[i].tv_nsec = (state >> 40) % 16 == 0;
  }
  printf("%ld %lu\n", polls(1500000), controls());
  return 0;
}
