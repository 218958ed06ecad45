// Fifty thousand frames deep, twice; mutual recursion; Ackermann.
//#expect-calls deep 100002
//#[O0] expect-calls ackermann 2432
//#[O0] expect-path deep 2 entry bottom exit
#include "marks.h"

KEPT long deep(long n) {
  if (n == 0) {
    MARK(1); // @bottom
    return 1;
  }
  long below = deep(n - 1);
  MARK(below & 1);
  return below ^ n;
}

KEPT long ackermann(long m, long n) {
  if (m == 0)
    return n + 1;
  if (n == 0)
    return ackermann(m - 1, 1);
  return ackermann(m - 1, ackermann(m, n - 1));
}

int main(void) { printf("%ld %ld %ld\n", deep(50000), deep(50000), ackermann(3, 3)); }
