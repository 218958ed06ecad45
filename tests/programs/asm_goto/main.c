// asm goto: a branch inside inline assembly, with and without outputs.
//#native its assembly is for x86-64
//#expect-calls bit 1000
//#expect-runs set 500
//#expect-runs clear 500
//#expect-runs carried 250
#include "marks.h"

KEPT int bit(int n) {
  __asm__ goto("testl $1, %0; jnz %l1" : : "r"(n) : "cc" : odd);
  MARK(1); // @clear
  return 0;
odd:
  MARK(2); // @set
  return 1;
}

KEPT unsigned add(unsigned a, unsigned b) {
  unsigned sum = a;
  __asm__ goto("addl %1, %0; jc %l[carry]" : "+r"(sum) : "r"(b) : "cc" : carry);
  return sum;
carry:
  MARK(3); // @carried
  return sum;
}

int main(void) {
  unsigned sum = 0;
  for (int i = 0; i < 1000; i++) {
    sum += bit(i);
    sum ^= add(i % 4 ? 5 : 0xffffffffu, 3 + i);
  }
  printf("%u\n", sum);
}
