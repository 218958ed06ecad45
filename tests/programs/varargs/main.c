// Variadic functions: registers that hold arguments, floating point among them, survive the first entry's slow path.
//#expect-calls sum 101
//#expect-calls first 1
#include "marks.h"
#include <stdarg.h>

KEPT double first(int n, ...) {
  va_list list;
  va_start(list, n);
  double sum = 0;
  for (int i = 0; i < n; i++)
    sum += va_arg(list, double) * (i + 1);
  va_end(list);
  return sum;
}

// Runs before main, so that the thread's very first entry has all argument registers in use.
static double early;
__attribute__((constructor(101))) static void start(void) {
  early = first(8, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0);
}

KEPT long sum(int n, ...) {
  va_list list, copy;
  va_start(list, n);
  va_copy(copy, list);
  long sum = 0;
  for (int i = 0; i < n; i++)
    sum += i & 1 ? (long)va_arg(list, double) : va_arg(list, int);
  for (int i = 0; i < n; i++)
    sum ^= i & 1 ? (long)va_arg(copy, double) : va_arg(copy, int);
  va_end(copy);
  va_end(list);
  return sum;
}

int main(void) {
  long total = sum(0);
  for (int i = 0; i < 100; i++)
    total += sum(i % 9, 1, 2.5, 3, 4.5, 5, 6.5, 7, 8.5);
  printf("%ld %.1f\n", total, early);
}
