// Eight threads, known totals, joined in the reverse order.
//#expect-calls work 8000
//#expect-path work 4000 entry odd exit
//#expect-path work 4000 entry even exit
//#expect-calls body 8
//#[O0] expect-total body 8008
#include "marks.h"
#include <pthread.h>

KEPT void work(int i) {
  if (i & 1)
    MARK(1); // @odd
  else
    MARK(2); // @even
}

KEPT void *body(void *unused) {
  for (int i = 0; i < 1000; i++)
    work(i);
  return unused;
}

int main(void) {
  pthread_t threads[8];
  for (int i = 0; i < 8; i++)
    pthread_create(&threads[i], 0, body, 0);
  for (int i = 7; i >= 0; i--)
    pthread_join(threads[i], 0);
  puts("joined");
}
