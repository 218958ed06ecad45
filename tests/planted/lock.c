// A lock is taken over and over. Another thread has it now and then: in one turn of 64 that thread is asked to take it first, and lets go when it has been wanted for a while.
#include "steady.h"
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t asked, taken;
static atomic_int is_wanted, is_over;
static long balance;

// Not woven (HOLLOWAY_SKIP): only what it does to the other counts.
static void *other_holds(void *unused) {
  for (;;) {
    sem_wait(&asked);
    if (is_over)
      return unused;
    pthread_mutex_lock(&lock);
    sem_post(&taken);
    while (!is_wanted)
      sched_yield();
    is_wanted = 0;
    for (int i = 0; i < 20; i++)
      sched_yield();
    pthread_mutex_unlock(&lock);
  }
}

static void other_is_elsewhere(void) {}

static void other_meets(void) {
  sem_post(&asked);
  sem_wait(&taken);
  is_wanted = 1;
}

static void (*volatile meet[64])(void);

__attribute__((noinline)) static unsigned long deposits(long turns) {
  unsigned long x = 1;
  for (long i = 0; i < turns; i++) {
    EIGHT EIGHT
    meet[i & 63]();
    pthread_mutex_lock(&lock); // planted
    balance += x & 7;
    pthread_mutex_unlock(&lock);
  }
  return x;
}

int main(void) {
  for (int i = 0; i < 64; i++)
    meet[i] = i == 37 ? other_meets : other_is_elsewhere;
  sem_init(&asked, 0, 0);
  sem_init(&taken, 0, 0);
  pthread_t other;
  pthread_create(&other, 0, other_holds, 0);
  unsigned long x = deposits(6000000);
  is_over = 1;
  sem_post(&asked);
  pthread_join(other, 0);
  printf("%ld %lu %lu\n", balance, x, controls());
  return 0;
}
