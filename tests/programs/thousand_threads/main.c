// A thousand threads alive at once, then a thousand one after the other.
//#native a thousand threads take the emulator long
//#expect-calls work 11000
//#expect-calls together 1000
//#expect-calls alone 1000
#include "marks.h"
#include <pthread.h>

enum { THREADS = 1000 };
static pthread_barrier_t barrier;

KEPT void work(void) { MARK(1); }

KEPT void *together(void *unused) {
  pthread_barrier_wait(&barrier);
  for (int i = 0; i < 10; i++)
    work();
  pthread_barrier_wait(&barrier);
  return unused;
}

KEPT void *alone(void *unused) {
  work();
  return unused;
}

int main(void) {
  static pthread_t threads[THREADS];
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 64 << 10);
  pthread_barrier_init(&barrier, 0, THREADS);
  for (int i = 0; i < THREADS; i++)
    if (pthread_create(&threads[i], &small, together, 0))
      return 1;
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], 0);
  for (int i = 0; i < THREADS; i++) {
    pthread_create(&threads[0], &small, alone, 0);
    pthread_join(threads[0], 0);
  }
  puts("2000 threads");
}
