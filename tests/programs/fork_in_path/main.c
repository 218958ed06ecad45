// fork between two branches of one path: the path finishes once in each process, with what ran before and after.
//#expect-path around 1 entry before parent exit
//#expect-path around 1 entry before child exit
//#processes 2
//#open a forked call finishes in both processes
#include "marks.h"
#include <sys/wait.h>
#include <unistd.h>

KEPT int around(int first) {
  if (first)
    MARK(1); // @before
  else
    MARK(2); // @never
  pid_t pid = fork();
  if (pid)
    MARK(3); // @parent
  else
    MARK(4); // @child
  return pid != 0;
}

int main(void) {
  if (!around(1))
    _exit(0);
  wait(0);
  puts("one of two");
}
