// A storm of timer signals whose woven handler interrupts woven code anywhere, in two threads.
//#expect-calls work 400000
//#unequal main it waits for signals in a loop
//#unequal handler signals come as they like
#include "marks.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>

static atomic_long handled;

KEPT void work(int i) {
  if (i % 3)
    MARK(1);
  else
    MARK(2);
}

KEPT void handler(int signal) {
  atomic_fetch_add(&handled, 1);
  for (int i = 0; i < signal % 4; i++)
    MARK(3);
}

static void *body(void *unused) {
  for (int i = 0; i < 200000; i++)
    work(i);
  return unused;
}

int main(void) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, 0);
  struct itimerval often = {{0, 50}, {0, 50}}, never = {0};
  setitimer(ITIMER_REAL, &often, 0);
  pthread_t thread;
  pthread_create(&thread, 0, body, 0);
  body(0);
  pthread_join(thread, 0);
  while (atomic_load(&handled) < 200)
    ;
  setitimer(ITIMER_REAL, &never, 0);
  sigset_t alarm;
  sigemptyset(&alarm);
  sigaddset(&alarm, SIGALRM);
  sigprocmask(SIG_BLOCK, &alarm, 0);
  SAY_CALLS("handler", handled);
  puts("handled");
}
