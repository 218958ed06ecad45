// Switches: dense, sparse, several cases to one block, 64-bit values, no default, all to one.
//#expect-calls dense 1000
//#[O0] expect-runs shared 300
//#[O0] expect-runs other 300
//#[O0] expect-runs seven 100
//#expect-calls sparse 1000
//#expect-calls letters 1000
//#expect-calls listed 1000
//#[O0] expect-runs added 250
#include "marks.h"

KEPT void dense(int n) {
  switch (n) {
  case 0:
  case 1:
  case 2: MARK(1); break; // @shared
  case 3: MARK(2); break;
  case 4: MARK(3); // fallthrough
  case 5: MARK(4); break;
  case 7: MARK(5); break; // @seven
  default: MARK(6); // @other
  }
}

KEPT int sparse(unsigned long n) {
  switch (n) {
  case 0: return 1;
  case 1000: return 2;
  case 1ul << 40: return 3;
  case ~0ul: return 4;
  }
  return 5;
}

KEPT int letters(char c) {
  switch (c) {
  case 'a' ... 'f': return c - 'a' + 10;
  case 'A' ... 'F': return c - 'A' + 10;
  case '0' ... '9': return c - '0';
  }
  return -1;
}

// Its cases are in a file of their own.
KEPT int listed(int n) {
  switch (n) {
#include "cases.h"
  }
  return 0;
}

int main(void) {
  long sum = 0;
  const unsigned long values[] = {0, 1000, 1ul << 40, ~0ul, 77};
  for (int i = 0; i < 1000; i++) {
    dense(i % 10);
    sum += sparse(values[i % 5]) + letters("aF7z-"[i % 5]) + listed(i % 4);
  }
  printf("%ld\n", sum);
}
