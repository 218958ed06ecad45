// timer_create with SIGEV_THREAD: the C library starts threads of its own to run woven code.
//#unequal main it waits for the timer in a loop
//#cut the last threads of the timer are anywhere when main returns
//#unequal expired the timer goes on until it is deleted
#include "marks.h"
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

static atomic_long begun, done;

KEPT void expired(union sigval value) {
  atomic_fetch_add(&begun, 1);
  MARK(value.sival_int);
  atomic_fetch_add(&done, 1);
}

int main(void) {
  struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = expired};
  timer_t timer;
  if (timer_create(CLOCK_MONOTONIC, &event, &timer))
    return 1;
  struct itimerspec often = {{0, 1000000}, {0, 1000000}};
  timer_settime(timer, 0, &often, 0);
  while (atomic_load(&done) < 20)
    usleep(1000);
  timer_delete(timer);
  usleep(50000);
  while (atomic_load(&begun) != atomic_load(&done))
    usleep(1000);
  usleep(20000);
  SAY_CALLS("expired", done);
  puts("expired");
}
