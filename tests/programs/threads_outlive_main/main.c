// main leaves by pthread_exit; its threads work on, and the last one's end is the process's.
//#expect-calls work 500
//#open main never returns
#include "marks.h"
#include <pthread.h>
#include <unistd.h>

KEPT void work(void) { MARK(1); }

static void *body(void *unused) {
  usleep(20000);
  for (int i = 0; i < 100; i++)
    work();
  return unused;
}

int main(void) {
  for (int i = 0; i < 5; i++) {
    pthread_t thread;
    pthread_create(&thread, 0, body, 0);
  }
  puts("main leaves");
  fflush(stdout);
  pthread_exit(0);
}
