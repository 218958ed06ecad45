// A list is walked: most times one that fits into the cache, now and then one that does not. The path is the same.
#include "steady.h"
#include <stdio.h>
#include <stdlib.h>

struct node {
  struct node *next;
  long value;
  char rest[48];
};

static unsigned long state = 1;

static unsigned long drawn(unsigned long below) {
  state = state * 6364136223846793005ul + 1442695040888963407ul;
  return (state >> 33) % below;
}

// A ring in random order (Sattolo).
static struct node *ring(long size) {
  struct node *nodes = aligned_alloc(64, size * sizeof(struct node));
  unsigned *order = malloc(size * sizeof(unsigned));
  for (long i = 0; i < size; i++)
    order[i] = i;
  for (long i = size - 1; i > 0; i--) {
    long j = drawn(i);
    unsigned kept = order[i];
    order[i] = order[j];
    order[j] = kept;
  }
  for (long i = 0; i < size; i++) {
    nodes[i].next = &nodes[order[i]];
    nodes[i].value = i;
  }
  free(order);
  return nodes;
}

__attribute__((noinline)) static const struct node *chase(const struct node *at, long steps, long *sum) {
  for (; steps > 0; steps--) {
    *sum += at->value; // planted
    at = at->next;
  }
  return at;
}

int main(void) {
  const struct node *small = ring(128), *large = ring(1 << 19);
  long sum = 0;
  for (int pass = 0; pass < 20; pass++) {
    small = chase(small, 2000000, &sum);
    large = chase(large, 300000, &sum);
  }
  printf("%ld %lu\n", sum, controls());
  return 0;
}
