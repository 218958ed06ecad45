// A program that closes every file, changes its directory and limits, then works on in new threads and a child.
//#expect-calls work 60
//#open fork
#include "marks.h"
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

KEPT void work(void) { MARK(1); }

static void *body(void *unused) {
  for (int i = 0; i < 10; i++)
    work();
  return unused;
}

int main(void) {
  body(0);
  int out = dup(1);
  for (int fd = 3; fd < 1024; fd++)
    if (fd != out)
      close(fd);
  if (chdir("/"))
    return 1;
  for (int i = 0; i < 4; i++) {
    pthread_t thread;
    pthread_create(&thread, 0, body, 0);
    pthread_join(thread, 0);
  }
  pid_t pid = fork();
  if (pid == 0) {
    body(0);
    _exit(0);
  }
  int status;
  waitpid(pid, &status, 0);
  dprintf(out, "status %d\n", status);
}
