// Two timers whose woven handlers, with loops, interrupt each other and threads that run loops; each ends after so many ticks.
//#expect-calls tick 600
//#[O0] expect-runs turn 4_200
//#expect-calls work 20_000
//#unequal main it waits for the timers in a loop
//#unequal ticked a signal may be pending when its timer is taken back
#include "marks.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#define TICKS 300

static timer_t timers[2];
static atomic_int ticks[2];
static atomic_long sums[2];

KEPT void tick(int which) {
  for (int i = 0; i < 7; i++)
    atomic_fetch_add(&sums[which], i); // @turn
}

KEPT void ticked(int signal, siginfo_t *info, void *context) {
  int which = signal == SIGUSR2;
  int number = atomic_fetch_add(&ticks[which], 1);
  if (number < TICKS)
    tick(which);
  if (number >= TICKS - 1) {
    struct itimerspec never = {0};
    timer_settime(timers[which], 0, &never, 0);
  }
}

KEPT unsigned work(unsigned n) {
  unsigned sum = n;
  for (unsigned i = 0; i < n % 50; i++) {
    if (sum & 1)
      sum = sum * 3 + 1;
    else
      sum /= 2;
  }
  return sum;
}

static void *body(void *result) {
  unsigned sum = 0;
  for (unsigned i = 0; i < 10000; i++)
    sum += work(i);
  *(unsigned *)result = sum;
  return 0;
}

int main(void) {
  int signals[2] = {SIGUSR1, SIGUSR2};
  for (int i = 0; i < 2; i++) {
    // Neither is masked in the other's handler.
    struct sigaction action = {.sa_sigaction = ticked, .sa_flags = SA_RESTART | SA_SIGINFO};
    sigaction(signals[i], &action, 0);
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = signals[i]};
    if (timer_create(CLOCK_MONOTONIC, &event, &timers[i]))
      return 1;
    struct itimerspec often = {{0, 100000}, {0, 100000 + 7000 * i}};
    timer_settime(timers[i], 0, &often, 0);
  }
  unsigned results[2];
  pthread_t thread;
  pthread_create(&thread, 0, body, &results[0]);
  body(&results[1]);
  pthread_join(thread, 0);
  while (atomic_load(&sums[0]) < 21 * TICKS || atomic_load(&sums[1]) < 21 * TICKS)
    usleep(100);
  printf("%u %u, %ld %ld\n", results[0], results[1], sums[0], sums[1]);
}
