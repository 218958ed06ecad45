// Frames left by exceptions and by longjmp: through frames with and without cleanups, out of loops, constructors and handlers, rethrown, caught and
// thrown anew, from the middle of lines that call several times; and frames that are open when the process ends.
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#define KEPT __attribute__((noinline))
static volatile unsigned sink;

namespace cleanups {
struct Guard { unsigned n; KEPT Guard(unsigned n) : n(n) { sink += n; } KEPT ~Guard() { if (n & 1) sink += 1; else sink += 2; } };
struct Thrower { Guard g; unsigned v; KEPT Thrower(unsigned n) : g(n), v(n) { if (n % 7 == 3) throw n; sink += 3; } };
KEPT unsigned leaf(unsigned n) {
  Guard g(n);
  if (n % 3 == 0) throw std::string("three");
  if (n % 5 == 0) throw n;
  return n + 1;
}
KEPT unsigned plain(unsigned n) { unsigned s = 0; s += leaf(n); s += leaf(n + 1); return s; }
KEPT unsigned loop(unsigned n) {
  unsigned s = 0;
  for (unsigned i = 0; i < n % 13; i++) {
    if (i & 1) s += plain(n + i);
    else s ^= i;
  }
  return s;
}
KEPT unsigned rethrow(unsigned n) {
  Guard g(n);
  try { return loop(n); }
  catch (unsigned k) { if (k & 1) throw; return k; }
  catch (...) { if (n % 2) throw std::runtime_error("x"); throw; }
}
KEPT unsigned construct(unsigned n) {
  try { Thrower t(n); Thrower u(n + 2); return t.v + u.v; } catch (unsigned k) { return k; }
}
KEPT unsigned inner(unsigned n) {
  unsigned s = 0;
  for (unsigned i = 0; i < 4; i++) {
    try {
      for (unsigned j = 0; j < 3; j++) { if ((n + i) % 4 == j) throw j; s += j; }
      s += rethrow(n + i);
    } catch (unsigned j) { s += j; if (j == 2) continue; s++; }
      catch (const std::exception &e) { s += e.what()[0]; try { s += leaf(n); } catch (...) { s += 5; } }
  }
  return s;
}
KEPT unsigned outer(unsigned n) {
  try { return inner(n) + construct(n); } catch (const std::string &s) { return s.size(); } catch (unsigned k) { return k; }
}
}

namespace plain {
static jmp_buf back;
KEPT void die(unsigned n) {
  sink += 1;
  throw n;
}
KEPT unsigned leaf(unsigned n) {
  if (n % 3 == 0)
    die(n);
  sink += n;
  return n;
}
KEPT unsigned tail(unsigned n) {
  unsigned s = leaf(n);
  sink += 2;
  s ^= 5;
  s += leaf(n + 1);
  sink += 3;
  return s;
}
KEPT unsigned loop(unsigned n) {
  unsigned s = 0;
  while (leaf(n + s) % 7 != 3) {
    s += 2;
    sink += 1;
  }
  return s;
}
KEPT void jump(unsigned n) {
  sink += n;
  if (n % 4 == 1)
    longjmp(back, 1);
  sink += 2;
}
KEPT unsigned jumper(unsigned n) {
  volatile unsigned s = n;
  if (setjmp(back)) {
    s += 4;
    return s;
  }
  for (unsigned i = 0; i < 5; i++) {
    jump(n + i);
    s += i;
  }
  return s;
}
KEPT unsigned outer(unsigned n) {
  unsigned s = 0;
  try {
    s += tail(n);
    s += loop(n);
  } catch (unsigned k) {
    s += k;
  }
  s += jumper(n);
  return s;
}
}

KEPT void end(unsigned s) {
  printf("%u\n", s);
  exit(0);
}

int main() {
  unsigned s = 0;
  for (unsigned i = 0; i < 500; i++)
    s = s * 31 + cleanups::outer(i) +
        plain::outer(i);
  end(s);
  return 1;
}
