// Constructors and destructors in the order of their priorities, and atexit between: printed, so order is compared.
//#expect-calls first 1
//#expect-calls second 1
//#expect-calls usual 1
//#expect-calls last_words 1
//#expect-calls late 1
//#expect-calls at_exit 1
#include "marks.h"
#include <stdlib.h>

__attribute__((constructor(101))) KEPT void first(void) { puts("101"); }
__attribute__((constructor(65000))) KEPT void second(void) { puts("65000"); }
__attribute__((constructor)) KEPT void usual(void) { puts("constructor"); }
__attribute__((destructor(101))) KEPT void last_words(void) { puts("destructor 101"); }
__attribute__((destructor)) KEPT void late(void) { puts("destructor"); }
KEPT void at_exit(void) { puts("atexit"); }

int main(void) {
  atexit(at_exit);
  puts("main");
}
