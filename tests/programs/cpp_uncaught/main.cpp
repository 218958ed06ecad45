// An exception that nobody catches: std::terminate, SIGABRT.
//#signal 6
//#expect-calls work 12
//#open terminate
#include "marks.h"
#include <stdexcept>

KEPT void work() { MARK(1); }
KEPT void thrower() { throw std::runtime_error("nobody listens"); }

int main() {
  for (int i = 0; i < 12; i++)
    work();
  puts("now");
  fflush(stdout);
  thrower();
}
