// Walks a list whose nodes are far from one another in memory, and an array.
#include <stdlib.h>

enum { NODES = 1 << 20 };
struct node {
  struct node *next;
  long value;
  char rest[48];
};

static volatile long sum;

__attribute__((noinline)) static long walk(const struct node *node) {
  long values = 0;
  for (; node; node = node->next) values += node->value;
  return values;
}

__attribute__((noinline)) static long add(const int *numbers, int n) {
  long values = 0;
  for (int i = 0; i < n; i++) {
    values += numbers[i];
    __asm__ volatile("" : "+r"(values));
  }
  return values;
}

int main(void) {
  struct node *nodes = calloc(NODES, sizeof *nodes);
  // An odd step visits each node once, and none near the one before.
  unsigned at = 0;
  for (unsigned i = 0; i < NODES - 1; i++) {
    unsigned next = (at + 611953u) % NODES;
    nodes[at].next = &nodes[next];
    at = next;
  }
  static int numbers[1000];
  for (int i = 0; i < 4; i++) sum += walk(nodes);
  for (int i = 0; i < 4000; i++) sum += add(numbers, 1000);
  return 0;
}
