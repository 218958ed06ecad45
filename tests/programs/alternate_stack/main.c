// Handlers on a stack of their own that run loops and jump back over frames that are in the middle of theirs.
//#[O0] expect-calls descend 2_100
//#expect-calls look 250
//#expect-calls again 200
//#open siglongjmp
#include "marks.h"
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>

static sigjmp_buf back;
static volatile unsigned sum;

KEPT void look(int n) {
  for (int i = 0; i <= n % 4; i++)
    sum = sum * 31 + i;
}

static void handler(int signal) {
  for (int i = 0; i < 5; i++)
    look(signal + i);
  siglongjmp(back, signal);
}

KEPT void descend(int depth, int signal) {
  for (int i = 0; i < 3; i++) {
    sum += i;
    if (depth == 0 && i == 1)
      raise(signal);
    if (depth > 0 && i == 2)
      descend(depth - 1, signal);
  }
}

KEPT void again(int signal) { sum = sum * 7 + signal; }

int main(void) {
  stack_t stack = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
  sigaltstack(&stack, 0);
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
  sigaction(SIGUSR1, &action, 0);
  sigaction(SIGUSR2, &action, 0);
  for (volatile int i = 0; i < 200; i++) {
    int signal = i % 4 ? SIGWINCH : i % 8 ? SIGUSR1 : SIGUSR2;
    int came = sigsetjmp(back, 1);
    if (came == 0)
      descend(i % 20, signal);
    again(came);
  }
  printf("%u\n", sum);
}
