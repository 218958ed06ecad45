// An interpreter by computed goto.
//#expect-calls run 3
//#expect-runs add 300
//#expect-runs jump 300
//#expect-runs halt 3
//#expect-runs load 3
//#levels O0 O1
#include "marks.h"

KEPT long run(const unsigned char *code) {
  static const void *labels[] = {&&load, &&add, &&jump, &&halt};
  long accumulator = 0, count = 0;
  const unsigned char *pc = code;
  goto *labels[*pc++];
load:
  MARK(1); // @load
  count = *pc++;
  goto *labels[*pc++];
add:
  MARK(2); // @add
  accumulator += count;
  goto *labels[*pc++];
jump:
  MARK(3); // @jump
  if (--count)
    pc -= *pc;
  else
    pc++;
  goto *labels[*pc++];
halt:
  MARK(4); // @halt
  return accumulator;
}

int main(void) {
  const unsigned char code[] = {0, 100, 1, 2, 2, 3};
  long sum = 0;
  for (int i = 0; i < 3; i++)
    sum += run(code);
  printf("%ld\n", sum);
}
