// A handler on its own stack meets a stack overflow and a wild read, and leaves both by siglongjmp.
//#expect-calls handler 3
//#expect-calls good 5
//#open siglongjmp
//#cut the stack may overflow in a probe
//#unequal deep the stack has more or less room from run to run
//#uncut cut a signal cuts these paths off, which call nothing: 3 and 1 were begun, 2 and 0 ended
#include "marks.h"
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>

static sigjmp_buf again;
static int *volatile nowhere = 0;

KEPT void good(void) { MARK(1); }

KEPT int deep(volatile char *above) {
  volatile char here[4096];
  here[0] = above[0];
  return deep(here) + here[0];
}

KEPT void handler(int signal) {
  MARK(signal);
}

static void leave(int signal) {
  handler(signal);
  siglongjmp(again, 1);
}

int main(void) {
  stack_t stack = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
  sigaltstack(&stack, 0);
  struct sigaction action = {.sa_handler = leave, .sa_flags = SA_ONSTACK};
  sigaction(SIGSEGV, &action, 0);
  static volatile int faults;
  while (faults < 3) {
    if (sigsetjmp(again, 1) == 0) {
      if (faults++ == 1) // @cut
        *nowhere = 1; // @cut
      else
        deep((volatile char[]){0});
    } else {
      good();
    }
  }
  good();
  good();
  printf("%d faults\n", faults);
}
