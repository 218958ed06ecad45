// A constructor starts a thread that works before main and beside it.
//#expect-calls work 100
//#expect-calls body 1
#include "marks.h"
#include <pthread.h>

static pthread_t early;

KEPT void work(void) { MARK(1); }

KEPT void *body(void *unused) {
  for (int i = 0; i < 100; i++)
    work();
  return unused;
}

__attribute__((constructor)) static void start(void) { pthread_create(&early, 0, body, 0); }

int main(void) {
  pthread_join(early, 0);
  puts("main");
}
