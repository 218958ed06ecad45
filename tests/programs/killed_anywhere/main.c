// Works for ever, telling its progress through a shared file after each finished call: tests/kill.rs kills it at a
// random moment. Arguments: the file, the number of threads. Without arguments it works a little and ends.
//#expect-calls work 3
//#expect-calls spin 3
//#expect-runs turn 300
#include "marks.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

typedef _Atomic(unsigned long) progress;

KEPT void work(unsigned long n) {
  if (n % 3 == 0)
    MARK(1);
  else if (n % 7 == 0)
    for (unsigned long i = 0; i < n % 11; i++)
      MARK(2);
  else
    MARK(3);
}

// Too many paths for an array: its counts are hashed.
KEPT void hashed(unsigned long bits) {
#define TWO(i) if (bits >> (i) & 1) MARK(i); if (bits >> (i + 1) & 1) MARK(i + 1);
#define EIGHT(i) TWO(i) TWO(i + 2) TWO(i + 4) TWO(i + 6)
  EIGHT(0) EIGHT(8) EIGHT(16)
}

// A small loop, whose counters may be kept in registers while it turns.
KEPT void spin(unsigned long turns) {
  for (unsigned long i = 0; i < turns; i++)
    MARK(4); // @turn
}

static void *body(void *argument) {
  progress *mine = argument;
  for (unsigned long n = 0;; n++) {
    work(n);
    atomic_store_explicit(&mine[0], n + 1, memory_order_release);
    hashed(n % 512 * 2654435761u);
    atomic_store_explicit(&mine[1], n + 1, memory_order_release);
    spin(100);
    atomic_store_explicit(&mine[2], n + 1, memory_order_release);
  }
  return 0;
}

int main(int argc, char **argv) {
  if (argc < 3) {
    for (int i = 0; i < 3; i++) {
      work(i);
      spin(100);
    }
    return 0;
  }
  int file = open(argv[1], O_RDWR);
  progress *all = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (all == MAP_FAILED)
    return 1;
  int threads = atoi(argv[2]);
  for (int i = 1; i < threads; i++) {
    pthread_t thread;
    pthread_create(&thread, 0, body, &all[3 * i]);
  }
  body(all);
}
