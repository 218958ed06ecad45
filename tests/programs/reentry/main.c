// Frames that are come back to: setjmp returns again in the frame that called it, from within and from deep below; a
// context is resumed that was saved before.
//#glibc musl has no getcontext
//#[exits] expect-calls again 1
//#[exits] expect-calls thrower 25
//#[exits] expect-runs count 25
//#expect-left count -24
//#expect-left throw 24
//#[exits] expect-calls deep 8
//#expect-left down 7
//#expect-left bottom 1
//#expect-left second -1
//#expect-left resumed -2
//#expect-left resume 2
//#open setjmp and getcontext return twice
#include "marks.h"
#include <setjmp.h>
#include <ucontext.h>

static jmp_buf where;
static ucontext_t context;

KEPT void thrower(int code) {
  MARK(1);
  longjmp(where, code);
}

static void (*volatile throw)(int) = thrower;

KEPT int again(int times) {
  volatile int turns = 0;
  setjmp(where);
  turns++; // @count
  if (turns < times) {
    throw(1); // @throw
    MARK(2);
  }
  return turns;
}

KEPT int deep(int n) {
  if (n == 0) {
    throw(5); // @bottom
    MARK(3);
    return 0;
  }
  int below = deep(n - 1); // @down
  MARK(4);
  return below + 1;
}

KEPT int below(void) {
  int code = setjmp(where); MARK(code); // @second
  if (code == 0) {
    deep(7);
    MARK(5);
  }
  return code;
}

KEPT int resumes(void) {
  volatile int turns = 0;
  getcontext(&context);
  turns++; // @resumed
  if (turns < 3) {
    setcontext(&context); // @resume
    MARK(6);
  }
  return turns;
}

int main(void) {
  int a = again(25);
  int b = below();
  printf("%d %d %d\n", a, b, resumes());
}
