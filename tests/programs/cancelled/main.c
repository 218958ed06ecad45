// Threads that are cancelled in the middle of nested loops: at a cancellation point, or wherever they are.
//#expect-calls clean 24
//#expect-calls row 4_096
//#[exits] expect-calls spinner 8
//#expect-calls at_point 16
//#open cancelled frames are left
//#cut asynchronous cancellation ends a thread in a probe too
//#unequal spin it is cancelled anywhere
//#unequal spinner it may be cancelled before it spins
#include "marks.h"
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>

#define THREADS 8

static sem_t ready, cancelled;
static volatile long spins[THREADS];

KEPT void clean(void *cleaned) {
  for (int i = 0; i < 3; i++)
    ++*(int *)cleaned;
}

KEPT void row(int n) {
  for (int i = 0; i < n % 5; i++)
    MARK(i);
}

KEPT void at_point(int stop) {
  for (int i = 0;; i++) {
    for (int j = 0; j < 16; j++) {
      row(i + j);
      if (i == stop && j == 15)
        pthread_testcancel();
    }
  }
}

// Cancellation is asked for before its first cancellation point, so that this is always the same.
static void *deferred(void *cleaned) {
  int old;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
  sem_post(&ready);
  sem_wait(&cancelled);
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old);
  pthread_cleanup_push(clean, cleaned);
  at_point(15);
  pthread_cleanup_pop(0);
  return 0;
}

KEPT void spin(volatile long *turns) {
  for (;;) {
    for (int i = 0; i < 7; i++)
      *turns += i & 1;
    if (*turns % 3 == 0)
      ++*turns;
  }
}

KEPT void spinner(volatile long *turns) {
  int old;
  sem_post(&ready);
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
  spin(turns);
}

static void *asynchronous(void *cleaned) {
  pthread_cleanup_push(clean, cleaned);
  spinner(&spins[0]);
  pthread_cleanup_pop(0);
  return 0;
}

KEPT int cancel_all(void *(*body)(void *), int threads, int are_told) {
  pthread_t all[2 * THREADS];
  int cleaned[2 * THREADS] = {0}, sum = 0;
  for (int i = 0; i < threads; i++)
    pthread_create(&all[i], 0, body, &cleaned[i]);
  for (int i = 0; i < threads; i++)
    sem_wait(&ready);
  for (int i = 0; i < threads; i++)
    pthread_cancel(all[i]);
  for (int i = 0; are_told && i < threads; i++)
    sem_post(&cancelled);
  for (int i = 0; i < threads; i++) {
    void *result;
    pthread_join(all[i], &result);
    sum += cleaned[i] * (result == PTHREAD_CANCELED);
  }
  return sum;
}

int main(void) {
  sem_init(&ready, 0, 0);
  sem_init(&cancelled, 0, 0);
  printf("%d cleaned at a point\n", cancel_all(deferred, 2 * THREADS, 1));
  printf("%d cleaned anywhere\n", cancel_all(asynchronous, THREADS, 0));
}
