/* Loops of all kinds. A comment after each call gives its iterations. Only the last three loops are
   unrolled. */
#define NO_UNROLL _Pragma("clang loop unroll(disable) vectorize(disable) interleave(disable)")
#define BARRIER __asm__ volatile("")
#define NOINLINE __attribute__((noinline))
volatile int sink;
NOINLINE static int odd(int i) { BARRIER; return i & 1; }
NOINLINE static int below(int i, int n) { BARRIER; return i < n; }
NOINLINE static void counted(int n) {
  NO_UNROLL for (int i = 0; i < n; i++)
    sink = i;
}
NOINLINE static void ten(void) {
  NO_UNROLL for (int i = 0; i < 10; i++)
    sink = i;
}
NOINLINE static void waited(int n) {
  NO_UNROLL while (n > 0) {
    sink = n;
    n--;
  }
}
NOINLINE static void at_the_end(int n) {
  NO_UNROLL do {
    sink = n;
    n--;
  } while (n > 0);
}
NOINLINE static void left(int n, int key) {
  NO_UNROLL for (int i = 0; i < n; i++) {
    if (!below(i, key))
      break;
    sink = i;
  }
}
NOINLINE static int found(int n, int key) {
  NO_UNROLL for (int i = 0; i < n; i++) {
    sink = i;
    if (sink == key)
      return i;
  }
  return -1;
}
NOINLINE static void on_one_line(int n, int key) {
  int i = 0;
  NO_UNROLL while (i < n) { if (!below(i, key)) break; sink = i++; }
}
NOINLINE static void both(int n, int key) {
  int i = 0;
  while (below(i, n) && below(i, key)) {
    sink = i;
    i++;
  }
}
NOINLINE static void either(int n, int key) {
  int i = 0;
  while (below(i, n) || below(i, key)) {
    sink = i;
    i++;
  }
}
NOINLINE static void skipping(int n) {
  NO_UNROLL for (int i = 0; i < n; i++) {
    if (odd(i))
      continue;
    sink = i;
    if (odd(i / 2))
      continue;
    sink = i + 1;
  }
}
NOINLINE static void nested(int n, int m) {
  NO_UNROLL for (int i = 0; i < n; i++) {
    NO_UNROLL for (int j = 0; j < m; j++)
      sink = i * j;
  }
}
NOINLINE static void last_thing(int n) {
  int i = 0;
  while (below(i, n)) {
    sink = i;
    i += 1;
    if (!below(i, n + 5))
      break;
  }
}
NOINLINE static void endless(int n) {
  int i = 0;
  for (;;) {
    sink = i;
    if (!below(i, n))
      break;
    sink = i + 1;
    i++;
  }
}
NOINLINE static void two_breaks(int n) {
  int i = 0;
  for (;;) {
    if (!below(i, n))
      break;
    sink = i;
    i++;
    if (!below(i, n + 5))
      break;
  }
}
NOINLINE static void do_break(int n, int key) {
  do {
    if (!below(n, key))
      break;
    sink = n;
    n--;
  } while (below(0, n));
}
NOINLINE static void again(int n) {
  int i = 0;
loop:
  sink = i;
  if (below(++i, n))
    goto loop;
}
NOINLINE static void unrolled(int n) {
  _Pragma("clang loop unroll_count(4) vectorize(disable)") for (int i = 0; i < n; i++)
    sink = i;
}
static int numbers[1000];
NOINLINE static void vectorized(int n, int *numbers) {
  for (int i = 0; i < n; i++)
    numbers[i] += i;
}
NOINLINE static int chosen(int n) {
  int a = 3;
  if (n > 1)
    a = 8;
  return a;
}
/* Only the loop over k is unrolled, whole, inside the loop over j. */
NOINLINE static int holds_unrolled(int n) {
  int total = 0;
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < n; j++) {
      if (j == 3)
        continue;
      if (j > i)
        break;
      int k = 0;
      while (k < 4) {
        sink += k;
        if (sink == -12345)
          goto out;
        k++;
      }
      do {
        sink--;
      } while (--k > 1);
      total++;
    }
  }
out:
  return total;
}
int main(int argc, char **argv) {
  NO_UNROLL for (int i = 0; i < 5; i++) {
    int none = argc - 1;
    counted(10);        /* 10 */
    counted(none);      /* 0 */
    ten();              /* 10 */
    waited(7);          /* 7 */
    waited(none);       /* 0 */
    at_the_end(6);      /* 6 */
    left(10, 4);        /* 5: the fifth is left */
    left(3, 9);         /* 3 */
    found(9, 5);        /* 6: the sixth returns */
    found(2, 5);        /* 2 */
    on_one_line(10, 4); /* 5: the fifth is left */
    both(10, 3);        /* 3 */
    both(3, 10);        /* 3 */
    both(none, 3);      /* 0 */
    either(10, 3);      /* 10 */
    skipping(12);       /* 12 */
    nested(4, 6);       /* 4, and 6 in each */
    last_thing(5);      /* 5 */
    endless(8);         /* 8, and one that ends at its test */
    two_breaks(9);      /* 9, and one that ends at its first test */
    do_break(5, 9);     /* 5 */
    do_break(12, 9);    /* 1, which is left */
    again(7);           /* 7 */
    unrolled(103 + none);
    vectorized(103 + none, numbers);
    holds_unrolled(6 + none);
    sink = chosen(argc + i);
  }
  return 0;
}
