// Resolvers of a static program run before thread-local storage is set up: neither they nor what they call is woven.
//#glibc musl has no ifuncs
//#build -static-pie -fPIE
//#expect-calls work 30
//#expect-calls chosen_fast 30
//#expect-skipped resolve
//#expect-skipped has_feature
//#expect-skipped deeper
#include "marks.h"

KEPT void work(void) { MARK(1); }

KEPT int chosen_fast(int n) {
  work();
  return n + 1;
}
KEPT int chosen_slow(int n) { return n + 2; }

KEPT int deeper(int n) {
  while (n > 10)
    n /= 2;
  return n;
}
extern __typeof(deeper) deeper_alias __attribute__((alias("deeper")));
KEPT int has_feature(int n) { return n > 1 ? deeper_alias(n) > 5 : has_feature(n + 1); }
KEPT void *resolve(void) { return has_feature(100 - (int)mark_sink) ? (void *)chosen_fast : (void *)chosen_slow; }
int chosen(int) __attribute__((ifunc("resolve")));

int main(void) {
  long sum = 0;
  for (int i = 0; i < 30; i++)
    sum += chosen(i);
  printf("%ld\n", sum);
}
