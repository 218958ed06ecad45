// SIGKILL sent to itself: nothing can run after it, nothing is lost. (tests/kill.rs kills at random moments.)
//#signal 9
//#expect-calls work 77
//#open killed
//#uncounted nothing writes the counts before it is killed
#include "marks.h"
#include <signal.h>

KEPT void work(void) { MARK(1); }

int main(void) {
  for (int i = 0; i < 77; i++)
    work();
  raise(SIGKILL);
}
