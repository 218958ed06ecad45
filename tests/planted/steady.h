// What every planted program has besides: a loop that takes long, each turn as long as the other, and one whose turns take a few cycles each, which the clock can't
// tell apart. Neither must rank, though by count or by total time they would.
#define STEP x = (x ^ (x >> 29)) * 0x9E3779B97F4A7C15ul;
#define EIGHT STEP STEP STEP STEP STEP STEP STEP STEP
#define MANY EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT

__attribute__((noinline)) static unsigned long steady(long turns) {
  unsigned long x = 88172645463325252ul;
  for (long i = 0; i < turns; i++) {
    MANY MANY MANY MANY MANY MANY MANY MANY
    __asm__ volatile("" : "+r"(x));
  }
  return x;
}

__attribute__((noinline)) static unsigned long tiny(long turns) {
  unsigned long x = 1;
  for (long i = 0; i < turns; i++) {
    STEP
    __asm__ volatile("" : "+r"(x));
  }
  return x;
}

static unsigned long controls(void) { return steady(250000) + tiny(100000000); }
