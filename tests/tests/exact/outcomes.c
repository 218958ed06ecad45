// Loops that are left by a break, each in a function that says whether it was: outcomes.rs. Lines that run only where a loop goes on
// behind its break are marked.
#include <stdio.h>
#include <stdlib.h>

int out;

// An ordinary condition.
__attribute__((noinline)) int above(const int *v, int n, int limit) {
  int sum = 0, i;
  for (i = 0; i < n; i++) {
    if (v[i] > limit) break;
    sum += v[i]; // inside
  }
  out = sum;
  return i;
}

// The condition the other way round.
__attribute__((noinline)) int below(const int *v, int n, int limit) {
  int i = 0;
  while (i < n) {
    if (!(v[i] < limit)) break;
    out ^= v[i] * 3; // inside
    i++;
  }
  return i;
}

// A store that can be sunk behind the loop.
__attribute__((noinline)) int stored(const int *v, int n, int limit) {
  int i;
  for (i = 0; i < n; i++) {
    if (v[i] == limit) break;
    out += v[i]; // inside
  }
  return i;
}

// An inner loop that is left, in an outer one that goes on.
__attribute__((noinline)) int inner(const int *v, int n, int limit) {
  int breaks = 0;
  for (int i = 0; i < n; i++) {
    out += rand() & 1;
    int j;
    for (j = 0; j < i; j++) {
      if (v[j] > limit) break;
      out ^= rand(); // inside
    }
    breaks += j < i;
  }
  return breaks;
}

// A loop that only a break ends.
__attribute__((noinline)) int forever(unsigned x) {
  int turns = 0;
  for (;;) {
    if (x == 1) break;
    x = x & 1 ? 3 * x + 1 : x / 2; // inside
    turns++;
  }
  return turns;
}

int main(void) {
  int v[64];
  for (int i = 0; i < 64; i++) v[i] = i;
  int limits[] = {-1, 0, 5, 40, 62, 63, 100};
  int a = 0, b = 0, s = 0, in = 0, ever = 0;
  for (int k = 0; k < 7; k++) {
    a += above(v, 64, limits[k]) < 64;
    b += below(v, 64, limits[k]) < 64;
    s += stored(v, 64, limits[k]) < 64;
    in += inner(v, 64, limits[k]);
    ever += forever(limits[k] + 2) >= 0;
  }
  printf("above breaks %d\nbelow breaks %d\nstored breaks %d\n", a, b, s);
  printf("inner breaks %d\nforever breaks %d\n", in, ever);
  return 0;
}
