// Linked at a fixed address, with sections collected and everything stripped: the map survives.
//#build -no-pie -fno-pie -static -ffunction-sections -fdata-sections -Wl,--gc-sections -s
//#expect-calls work 40
#include "marks.h"
#include <stdlib.h>

KEPT void work(void) { MARK(1); }
KEPT void unused_one(void) { MARK(2); }
__attribute__((constructor)) static void early(void) {
  for (int i = 0; i < 20; i++)
    work();
}
int main(void) {
  for (int i = 0; i < 20; i++)
    work();
  puts("static");
}
