// exit called by a thread while another works: the handlers run and are counted.
//#exit 5
//#expect-calls at_exit 1
//#expect-calls work 30
//#open exit
//#cut main is anywhere when the other thread ends the process
//#unequal main it is anywhere when the other thread ends the process
#include "marks.h"
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

KEPT void work(void) { MARK(1); }
KEPT void at_exit(void) { work(); }

static void *body(void *unused) {
  for (int i = 0; i < 29; i++)
    work();
  exit(5);
  return unused;
}

int main(void) {
  atexit(at_exit);
  pthread_t thread;
  pthread_create(&thread, 0, body, 0);
  for (;;)
    pause();
}
