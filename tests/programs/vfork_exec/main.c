// vfork, then exec of this very program as another process; posix_spawn and system too.
//#expect-calls parent_work 10
//#expect-calls child_work 15
//#native the emulator does not exec what it emulates
//#open vfork returns twice
#include "marks.h"
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

KEPT void parent_work(void) { MARK(1); }
KEPT void child_work(void) { MARK(2); }

static int wait_for(pid_t pid) {
  int status;
  waitpid(pid, &status, 0);
  return WEXITSTATUS(status);
}

int main(int argc, char **argv) {
  if (argc > 1 && !strcmp(argv[1], "child")) {
    for (int i = 0; i < 5; i++)
      child_work();
    return 42;
  }
  for (int i = 0; i < 10; i++)
    parent_work();
  char *arguments[] = {argv[0], "child", 0};
  pid_t pid = vfork();
  if (pid == 0) {
    execv(argv[0], arguments);
    _exit(1);
  }
  printf("vfork %d\n", wait_for(pid));
  posix_spawn(&pid, argv[0], 0, 0, arguments, environ);
  printf("spawn %d\n", wait_for(pid));
  fflush(stdout);
  char line[4096];
  snprintf(line, sizeof line, "%s child", argv[0]);
  int status = system(line);
  printf("system %d\n", WEXITSTATUS(status));
}
