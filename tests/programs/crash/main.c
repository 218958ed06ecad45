// A null pointer written through: the same signal as plain.
//#signal 11
//#expect-calls work 9
//#open killed
//#unequal main the signal comes in the middle of a block, at no call
//#uncounted nothing writes the counts before it is killed
#include "marks.h"
#include <stddef.h>

KEPT void work(void) { MARK(1); }
static int *volatile nowhere = NULL;

int main(void) {
  for (int i = 0; i < 9; i++)
    work();
  *nowhere = 1;
}
