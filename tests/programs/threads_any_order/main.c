// Detached threads that end in an order of their own; main waits for the count only.
//#expect-calls work 1600
//#cut the last threads are anywhere when main returns
//#unequal main it waits for the others in a loop
#include "marks.h"
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static atomic_int left = 16;

KEPT void work(void) { MARK(1); }

static void *body(void *argument) {
  long n = (long)argument;
  for (int i = 0; i < 100; i++) {
    work();
    if (i % 25 == 0)
      usleep((n * 7919) % 3000);
  }
  atomic_fetch_sub(&left, 1);
  return 0;
}

int main(void) {
  pthread_attr_t detached;
  pthread_attr_init(&detached);
  pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
  for (long i = 0; i < 16; i++) {
    pthread_t thread;
    pthread_create(&thread, &detached, body, (void *)i);
  }
  while (atomic_load(&left))
    usleep(100);
  puts("all done");
}
