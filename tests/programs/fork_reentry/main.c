// A forked child returns from frames that it never entered, and leaves others: three frames are on the stack at the fork,
// the child returns from two of them and ends in main.
//#expect-left fork -1
//#expect-left outer -1
// In the child main's call of `outer` returns once more than it was made.
//#expect-left main -1
//#[exits] expect-calls inner 1
//#[exits] expect-calls outer 1
//#[exits] expect-calls main 1
//#expect-runs both 2
//#[exits] expect-runs once 1
//#processes 2
//#open the child returns from frames that it never entered
#include "marks.h"
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

KEPT pid_t inner(int n) {
  if (n)
    MARK(1); // @once
  pid_t pid = fork(); // @fork
  if (pid)
    MARK(2);
  else
    MARK(3);
  return pid;
}

KEPT pid_t outer(int n) {
  MARK(4);
  pid_t pid = inner(n); // @outer
  if (pid >= 0)
    MARK(5); // @both
  return pid;
}

int main(int argc, char **argv) {
  pid_t pid = outer(argc); // @main
  if (pid == 0) {
    MARK(6);
    exit(3);
  }
  int status;
  waitpid(pid, &status, 0);
  printf("%d\n", WEXITSTATUS(status));
}
