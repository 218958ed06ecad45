// Threads, children, signals and jumps at once. Counts don't depend on when what runs, nor on the C library.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#define KEPT __attribute__((noinline))

static jmp_buf home;
static volatile int handled;

KEPT int work(int n) {
  int steps = 0;
  for (; n != 1; steps++)
    n = n % 2 ? 3 * n + 1 : n / 2;
  return steps;
}

KEPT void on_signal(int number) {
  if (number == SIGUSR1)
    handled++;
}

KEPT int deep(int left) {
  if (!left)
    longjmp(home, 1);
  return deep(left - 1) + 1;
}

KEPT int thrown(int times) {
  volatile int landed = 0;
  while (landed < times)
    if (setjmp(home))
      landed++;
    else
      deep(3);
  return landed;
}

KEPT void *in_thread(void *unused) {
  for (int i = 1; i <= 1000; i++)
    work(i);
  return unused;
}

KEPT int children(int count) {
  int ended = 0;
  for (int i = 0; i < count; i++) {
    if (!fork()) {
      for (int k = 1; k <= 100; k++)
        work(k);
      _exit(i);
    }
    int status;
    wait(&status);
    ended += WEXITSTATUS(status) == i;
  }
  return ended;
}

int main(void) {
  signal(SIGUSR1, on_signal);
  pthread_t threads[4];
  for (int i = 0; i < 4; i++)
    pthread_create(&threads[i], 0, in_thread, 0);
  for (int i = 0; i < 50; i++)
    raise(SIGUSR1);
  int landed = thrown(20);
  for (int i = 0; i < 4; i++)
    pthread_join(threads[i], 0);
  printf("%d %d %d\n", handled, landed, children(3));
  return 0;
}
