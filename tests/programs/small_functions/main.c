// The smallest graphs: an empty function, a loop of one block, an endless one left by exit's back door.
//#expect-calls empty 10
//#expect-distinct empty 1
//#expect-calls spin 10
//#expect-calls head_is_entry 10
//#expect-runs turn 550
//#expect-path spin 10 entry turn back
//#expect-path spin 530 loop turn back
//#expect-path spin 10 loop turn exit
#include "marks.h"

KEPT void empty(void) { __asm__ volatile(""); }

KEPT void spin(int n) {
  do
    MARK(1); // @turn
  while (--n);
}

KEPT int head_is_entry(int n) {
again:
  MARK(2);
  if (--n > 0)
    goto again;
  return n;
}

int main(void) {
  for (int i = 0; i < 10; i++) {
    empty();
    spin(10 * (i + 1));
    head_is_entry(i);
  }
  puts("small");
}
