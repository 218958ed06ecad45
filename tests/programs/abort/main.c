// abort: SIGABRT is the end, and all finished work is on disk.
//#signal 6
//#expect-calls work 33
//#open abort
#include "marks.h"
#include <stdlib.h>

KEPT void work(void) { MARK(1); }

int main(void) {
  for (int i = 0; i < 33; i++)
    work();
  puts("so far");
  fflush(stdout);
  abort();
}
