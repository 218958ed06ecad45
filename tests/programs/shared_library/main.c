// A program and the woven library it is linked with: two images in one process, callbacks across them.
//#shared liball.so all.c
//#build -L. -lall -Wl,-rpath,$ORIGIN
//#expect-calls all 20
//#expect-calls visitor 200
#include "marks.h"

int all(int n, int (*visit)(int));

KEPT int visitor(int i) {
  if (i % 3)
    MARK(1);
  return i;
}

int main(void) {
  int sum = 0;
  for (int i = 0; i < 20; i++)
    sum += all(10, visitor);
  printf("%d\n", sum);
}
