// Linked statically: thread-local storage and relocations are the program's own.
//#build -static-pie -fPIE
//#expect-calls work 40
#include "marks.h"
#include <pthread.h>

KEPT void work(void) { MARK(1); }
static void *body(void *unused) {
  for (int i = 0; i < 20; i++)
    work();
  return unused;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, body, 0);
  body(0);
  pthread_join(thread, 0);
  puts("static");
}
