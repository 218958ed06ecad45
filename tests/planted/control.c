// Nothing varies: one loop, slow on each of its turns alike, and one that is quick on each.
#include "steady.h"
#include <stdio.h>

int main(void) {
  printf("%lu\n", controls());
  return 0;
}
