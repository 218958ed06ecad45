// _exit from the depths: what was finished before is counted, atexit doesn't run.
//#exit 7
//#expect-calls work 25
// What stands behind the call that never comes back has not run.
//#expect-runs behind 0
//#expect-calls at_exit 0
//#open _exit
#include "marks.h"
#include <stdlib.h>
#include <unistd.h>

KEPT void work(void) { MARK(1); }
KEPT void at_exit(void) { MARK(2); }
KEPT void leave(int depth) {
  if (depth)
    leave(depth - 1);
  else
    _exit(7);
  MARK(3); // @behind
}

int main(void) {
  atexit(at_exit);
  for (int i = 0; i < 25; i++)
    work();
  leave(5);
}
