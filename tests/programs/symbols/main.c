// Aliases, ifuncs, weak symbols, naked functions, sections walked by __start_ and __stop_, module assembly, inline copies.
//#glibc musl has no ifuncs
//#build other.c
//#expect-calls work 22
//#expect-calls weak_one 3
//#expect-calls registered_a 1
//#expect-calls registered_b 1
#include "marks.h"
#ifdef __aarch64__
#define JUMP "b"
#define RETURN_42 "mov w0, #42; ret"
#else
#define JUMP "jmp"
#define RETURN_42 "movl $42, %eax; ret"
#endif

KEPT int work(int n) {
  if (n & 1)
    MARK(1);
  return n;
}
extern __typeof(work) work_alias __attribute__((alias("work")));

static int fast(int n) { return work(n) + 1; }
static int slow(int n) { return work(n) + 2; }
static void *resolve(void) { return mark_sink == 0 ? (void *)fast : (void *)slow; }
int chosen(int) __attribute__((ifunc("resolve")));

int weak_one(int);
int undefined_weak(int) __attribute__((weak));

__attribute__((naked)) int naked(void) { __asm__(RETURN_42); }
static __attribute__((used)) int from_assembly(int n) { return work(n) * 3; }
__asm__(".text\n.globl assembly\nassembly: " JUMP " from_assembly\n");
int assembly(int);

typedef int (*entry)(void);
#define REGISTER(f) static const entry f##_entry __attribute__((used, section("registry"))) = f
KEPT int registered_a(void) { return 5; }
KEPT int registered_b(void) { return 6; }
REGISTER(registered_a);
REGISTER(registered_b);
extern const entry __start_registry[], __stop_registry[];

int main(void) {
  long sum = naked();
  for (int i = 0; i < 10; i++)
    sum += work_alias(i) + chosen(i);
  sum += weak_one(1) + weak_one(2) + weak_one(3);
  sum += undefined_weak ? undefined_weak(1) : 1000;
  sum += assembly(7) + assembly(8);
  for (const entry *e = __start_registry; e < __stop_registry; e++)
    sum += (*e)();
  printf("%ld\n", sum);
}

__attribute__((weak)) int weak_two(int n) { return n; }
