// For each kind of advice, a function that looks similar and gets none of that kind.
#include <stdlib.h>
#include <string.h>

static volatile unsigned long sum;
static volatile int values[64];
static unsigned state = 1;

// Keeps the compiler from making a select of a branch.
#define HERE(n) __asm__ volatile("# here %0" : : "i"(n))

static unsigned dice(void) {
  state = state * 1664525u + 1013904223u;
  return state >> 29;
}

// Mostly one outcome.
__attribute__((noinline)) static void guess(int n) {
  for (int i = 0; i < n; i++) {
    if (i % 64) { HERE(0); sum += i; }
    else { HERE(1); sum ^= n; }
  }
}

// Two decisions that do not depend on one another, and one that always goes the same way.
__attribute__((noinline)) static void twice(int n) {
  for (int i = 0; i < n; i++) {
    if (dice() == 0) { HERE(2); sum += 1; }
    else { HERE(3); sum += 2; }
    if (dice() == 0) { HERE(4); sum -= 2; }
    else { HERE(5); sum -= 1; }
    if (i < 0) { HERE(6); sum -= 2; }
  }
}

// The outcome changes once in each execution of the loop.
__attribute__((noinline)) static void modes(int n) {
  for (int i = 0; i < n; i++) {
    if (i < n / 2) { HERE(7); sum += 3; }
    else { HERE(8); sum -= 3; }
  }
}

// Paths without order.
__attribute__((noinline)) static void shuffle(int n) {
  for (int i = 0; i < n; i++) {
    if (dice() == 0) { HERE(9); sum += 3; }
    else { HERE(10); sum -= 3; }
  }
}

// One iteration in a thousand allocates.
__attribute__((noinline)) static void allocate(int n) {
  for (int i = 0; i < n; i++) {
    if (i % 1000 == 0) {
      char *volatile p = malloc(40);
      free(p);
    }
    sum += i;
  }
}

// Words, and bytes that are not next to one another.
__attribute__((noinline)) static void copy(unsigned *to, const unsigned char *from, int n) {
  for (int i = 0; i < n; i++) to[i] ^= to[i] >> 3 ^ from[64 * i & 1023];
}

// Volatile loads, but of different places; and a wait with work in it.
__attribute__((noinline)) static void look(int n) {
  int found = 0;
  for (int i = 0; i < n; i++) found += values[i & 63];
  while (values[0] < n) {
    values[0]++;
    sum += found;
  }
}

int main(void) {
  guess(100000);
  twice(100000);
  for (int i = 0; i < 1000; i++) modes(100);
  shuffle(100000);
  allocate(100000);
  unsigned char *text = calloc(1, 1024);
  unsigned *other = calloc(4, 1024);
  for (int i = 0; i < 100; i++) copy(other, text, 1000);
  look(100000);
  return 0;
}
