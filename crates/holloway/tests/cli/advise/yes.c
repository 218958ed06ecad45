// For each kind of advice, a function that gets it.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static volatile int done;
static volatile unsigned long sum;
static unsigned state = 1;

// Keeps the compiler from making a select of a branch.
#define HERE(n) __asm__ volatile("# here %0" : : "i"(n))

static unsigned dice(void) {
  state = state * 1664525u + 1013904223u;
  return state >> 31;
}

__attribute__((noinline)) static void guess(int n) {
  for (int i = 0; i < n; i++) {
    if (dice()) { HERE(0); sum += i; } // unpredictable
    else { HERE(1); sum ^= n; }
  }
}

__attribute__((noinline)) static void twice(int n) {
  for (int i = 0; i < n; i++) {
    int odd = dice();
    if (odd) { HERE(2); sum += 1; }
    else { HERE(3); sum += 2; }
    __asm__ volatile("" : "+r"(odd));
    if (odd) { HERE(4); sum -= 2; } // decided
    else { HERE(5); sum -= 1; }
  }
}

__attribute__((noinline)) static void modes(volatile int *mode, int n) {
  for (int i = 0; i < n; i++) {
    if (*mode) { HERE(6); sum += 3; } // same_outcome
    else { HERE(7); sum -= 3; }
  }
}

__attribute__((noinline)) static void alternate(int n) {
  for (int i = 0; i < n; i++) { // period
    if (i & 1) { HERE(8); sum += 3; }
    else { HERE(9); sum -= 3; }
  }
}

__attribute__((noinline)) static void allocate(int n) {
  for (int i = 0; i < n; i++) {
    char *volatile p = malloc(40); // allocation
    free(p);
  }
}

__attribute__((noinline)) static void copy(unsigned char *to, const unsigned char *from) {
  while ((*to++ = *from++)) {} // bytes
}

__attribute__((noinline)) static void wait(void) {
  while (!done) {} // busy_wait
}

// Ends the wait when the main thread has waited for some milliseconds of its CPU time.
static void *worker(void *main_clock) {
  struct timespec before, now, pause = {0, 1000000};
  clock_gettime(*(clockid_t *)main_clock, &before);
  do {
    nanosleep(&pause, NULL);
    clock_gettime(*(clockid_t *)main_clock, &now);
  } while ((now.tv_sec - before.tv_sec) * 1000000000L + now.tv_nsec - before.tv_nsec < 2000000);
  done = 1;
  return NULL;
}

int main(void) {
  guess(50000);
  twice(300000);
  for (int i = 0; i < 4000; i++) {
    int mode = i & 1;
    modes(&mode, 100);
  }
  alternate(300000);
  allocate(30000);
  unsigned char *text = malloc(1000), *other = malloc(1000);
  memset(text, 'a', 999);
  text[999] = 0;
  for (int i = 0; i < 300; i++) copy(other, text);
  clockid_t clock;
  pthread_t thread;
  pthread_getcpuclockid(pthread_self(), &clock);
  pthread_create(&thread, NULL, worker, &clock);
  wait();
  return pthread_join(thread, NULL);
}
