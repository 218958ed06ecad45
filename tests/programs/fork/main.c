// fork in the middle of a loop: each process counts its own work, the sum over both files is exact.
// before: 100; parent: 10; child: 7; grandchild: 3; a child forked by a second thread: 20.
//#expect-calls work 140
// Its path ends in the parent by return, in the child at _exit.
//#[closed] expect-calls in_thread 2
//#[exits] expect-calls in_thread 1
//#processes 4
//#open a forked call finishes in both processes
#include "marks.h"
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

KEPT void work(int n) {
  for (int i = 0; i < n; i++)
    MARK(1);
}

KEPT void repeat(int times) {
  for (int i = 0; i < times; i++)
    work(i % 5);
}

static int wait_for(pid_t pid) {
  int status;
  waitpid(pid, &status, 0);
  return WEXITSTATUS(status);
}

KEPT void *in_thread(void *unused) {
  pid_t pid = fork();
  if (pid == 0) {
    repeat(20);
    _exit(4);
  }
  printf("from the thread: %d\n", wait_for(pid));
  return unused;
}

int main(void) {
  repeat(100);
  pid_t pid = fork();
  if (pid == 0) {
    repeat(7);
    pid_t inner = fork();
    if (inner == 0) {
      repeat(3);
      exit(2);
    }
    exit(10 + wait_for(inner));
  }
  repeat(10);
  printf("child %d\n", wait_for(pid));
  pthread_t thread;
  pthread_create(&thread, 0, in_thread, 0);
  pthread_join(thread, 0);
}
