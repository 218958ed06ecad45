// Two processes want one processor. A path through `hit` was preempted, between two questions of the kernel.
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#define KEPT __attribute__((noinline))

// Left out of the weave, so that a turn is one path.
KEPT void other_work(volatile int turns) {
  while (turns)
    turns--;
}

KEPT void other_rival(void) {
  for (volatile int i = 0;; i++)
    ;
}

KEPT long other_switches(void) {
  struct rusage usage;
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

KEPT int hit(int n) { return n + 1; }

KEPT int turns(int wanted) {
  int found = 0;
  while (found < wanted) {
    long before = other_switches();
    other_work(20000);
    if (other_switches() != before)
      found = hit(found);
  }
  return found;
}

int main(int argc, char **argv) {
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  int one = 0;
  while (!CPU_ISSET(one, &set))
    one++;
  CPU_ZERO(&set);
  CPU_SET(one, &set);
  if (argc < 2 || sched_setaffinity(0, sizeof set, &set))
    return 1;
  pid_t rival = fork();
  if (!rival) {
    alarm(600); // whatever becomes of this process
    other_rival();
  }
  printf("%d\n", turns(atoi(argv[1])));
  kill(rival, SIGKILL);
  waitpid(rival, 0, 0);
  return 0;
}
