// Thread-specific keys whose destructors run woven code and arm themselves again, up to the last round.
//#expect-calls again 40
//#expect-calls late 10
#include "marks.h"
#include <pthread.h>

static pthread_key_t key, other;
static __thread int rounds;

KEPT void late(void *unused) {
  (void)unused;
  MARK(1);
}

KEPT void again(void *value) {
  MARK(2);
  if (++rounds < 4)
    pthread_setspecific(key, value);
}

static void *body(void *unused) {
  static int something;
  pthread_setspecific(key, &something);
  pthread_setspecific(other, &something);
  return unused;
}

int main(void) {
  pthread_key_create(&key, again);
  pthread_key_create(&other, late);
  for (int i = 0; i < 10; i++) {
    pthread_t thread;
    pthread_create(&thread, 0, body, 0);
    pthread_join(thread, 0);
  }
  puts("ten");
}
