// Threads of C11, which no interposed pthread_create sees.
//#expect-calls work 1200
//#expect-calls body 4
#include "marks.h"
#include <threads.h>

KEPT void work(void) { MARK(1); }

KEPT int body(void *argument) {
  for (int i = 0; i < 300; i++)
    work();
  return (int)(long)argument;
}

int main(void) {
  thrd_t threads[4];
  int sum = 0;
  for (long i = 0; i < 4; i++)
    thrd_create(&threads[i], body, (void *)i);
  for (int i = 0; i < 4; i++) {
    int result;
    thrd_join(threads[i], &result);
    sum += result;
  }
  printf("%d\n", sum);
}
