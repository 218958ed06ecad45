// exec replaces the program in the same process: two profiles, nothing lost of the first.
//#expect-calls work 10
//#expect-calls before 1
//#processes 2
//#native the emulator does not exec what it emulates
//#open main never returns
#include "marks.h"
#include <string.h>
#include <unistd.h>

KEPT void work(void) { MARK(1); }
KEPT void before(void) {
  for (int i = 0; i < 4; i++)
    work();
}

int main(int argc, char **argv) {
  if (argc > 1) {
    for (int i = 0; i < 6; i++)
      work();
    puts("second life");
    return 0;
  }
  before();
  char *arguments[] = {argv[0], "again", 0};
  execv(argv[0], arguments);
  return 1;
}
