// Functions with 2^30 and 2^62 paths: counted all the same, whatever must be hashed or cut. (Written out by hand's
// rule: one `if` a bit.)
//#expect-calls thirty 3000
//#expect-calls sixty_two 3000
//#[counted] expect-possible thirty 1000000+
//#[O0 counted] expect-possible thirty 1073741824
//#[O0 counted] expect-distinct thirty 1000
//#expect-runs low 1500
//#expect-runs high 3000
#include "marks.h"
#include <stdint.h>

KEPT void thirty(uint32_t bits) {
  if (bits >> 0 & 1)
    MARK(1);
  if (bits >> 1 & 1)
    MARK(2);
  if (bits >> 2 & 1)
    MARK(3);
  if (bits >> 3 & 1)
    MARK(4);
  if (bits >> 4 & 1)
    MARK(5);
  if (bits >> 5 & 1)
    MARK(6);
  if (bits >> 6 & 1)
    MARK(7);
  if (bits >> 7 & 1)
    MARK(8);
  if (bits >> 8 & 1)
    MARK(9);
  if (bits >> 9 & 1)
    MARK(10);
  if (bits >> 10 & 1)
    MARK(11);
  if (bits >> 11 & 1)
    MARK(12);
  if (bits >> 12 & 1)
    MARK(13);
  if (bits >> 13 & 1)
    MARK(14);
  if (bits >> 14 & 1)
    MARK(15);
  if (bits >> 15 & 1)
    MARK(16);
  if (bits >> 16 & 1)
    MARK(17);
  if (bits >> 17 & 1)
    MARK(18);
  if (bits >> 18 & 1)
    MARK(19);
  if (bits >> 19 & 1)
    MARK(20);
  if (bits >> 20 & 1)
    MARK(21);
  if (bits >> 21 & 1)
    MARK(22);
  if (bits >> 22 & 1)
    MARK(23);
  if (bits >> 23 & 1)
    MARK(24);
  if (bits >> 24 & 1)
    MARK(25);
  if (bits >> 25 & 1)
    MARK(26);
  if (bits >> 26 & 1)
    MARK(27);
  if (bits >> 27 & 1)
    MARK(28);
  if (bits >> 28 & 1)
    MARK(29);
  if (bits >> 29 & 1)
    MARK(30);
}

KEPT void sixty_two(uint64_t bits) {
  if (bits >> 0 & 1)
    MARK(1); // @low
  if (bits >> 1 & 1)
    MARK(2);
  if (bits >> 2 & 1)
    MARK(3);
  if (bits >> 3 & 1)
    MARK(4);
  if (bits >> 4 & 1)
    MARK(5);
  if (bits >> 5 & 1)
    MARK(6);
  if (bits >> 6 & 1)
    MARK(7);
  if (bits >> 7 & 1)
    MARK(8);
  if (bits >> 8 & 1)
    MARK(9);
  if (bits >> 9 & 1)
    MARK(10);
  if (bits >> 10 & 1)
    MARK(11);
  if (bits >> 11 & 1)
    MARK(12);
  if (bits >> 12 & 1)
    MARK(13);
  if (bits >> 13 & 1)
    MARK(14);
  if (bits >> 14 & 1)
    MARK(15);
  if (bits >> 15 & 1)
    MARK(16);
  if (bits >> 16 & 1)
    MARK(17);
  if (bits >> 17 & 1)
    MARK(18);
  if (bits >> 18 & 1)
    MARK(19);
  if (bits >> 19 & 1)
    MARK(20);
  if (bits >> 20 & 1)
    MARK(21);
  if (bits >> 21 & 1)
    MARK(22);
  if (bits >> 22 & 1)
    MARK(23);
  if (bits >> 23 & 1)
    MARK(24);
  if (bits >> 24 & 1)
    MARK(25);
  if (bits >> 25 & 1)
    MARK(26);
  if (bits >> 26 & 1)
    MARK(27);
  if (bits >> 27 & 1)
    MARK(28);
  if (bits >> 28 & 1)
    MARK(29);
  if (bits >> 29 & 1)
    MARK(30);
  if (bits >> 30 & 1)
    MARK(31);
  if (bits >> 31 & 1)
    MARK(32);
  if (bits >> 32 & 1)
    MARK(33);
  if (bits >> 33 & 1)
    MARK(34);
  if (bits >> 34 & 1)
    MARK(35);
  if (bits >> 35 & 1)
    MARK(36);
  if (bits >> 36 & 1)
    MARK(37);
  if (bits >> 37 & 1)
    MARK(38);
  if (bits >> 38 & 1)
    MARK(39);
  if (bits >> 39 & 1)
    MARK(40);
  if (bits >> 40 & 1)
    MARK(41);
  if (bits >> 41 & 1)
    MARK(42);
  if (bits >> 42 & 1)
    MARK(43);
  if (bits >> 43 & 1)
    MARK(44);
  if (bits >> 44 & 1)
    MARK(45);
  if (bits >> 45 & 1)
    MARK(46);
  if (bits >> 46 & 1)
    MARK(47);
  if (bits >> 47 & 1)
    MARK(48);
  if (bits >> 48 & 1)
    MARK(49);
  if (bits >> 49 & 1)
    MARK(50);
  if (bits >> 50 & 1)
    MARK(51);
  if (bits >> 51 & 1)
    MARK(52);
  if (bits >> 52 & 1)
    MARK(53);
  if (bits >> 53 & 1)
    MARK(54);
  if (bits >> 54 & 1)
    MARK(55);
  if (bits >> 55 & 1)
    MARK(56);
  if (bits >> 56 & 1)
    MARK(57);
  if (bits >> 57 & 1)
    MARK(58);
  if (bits >> 58 & 1)
    MARK(59);
  if (bits >> 59 & 1)
    MARK(60);
  if (bits >> 60 & 1)
    MARK(61);
  if (bits >> 61 & 1)
    MARK(62); // @high
}

int main(void) {
  for (int round = 0; round < 3; round++) {
    uint64_t state = 1;
    for (uint64_t i = 0; i < 1000; i++) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      thirty((uint32_t)(i * 1048583u));
      sixty_two((state >> 2 & ~UINT64_C(1)) | UINT64_C(1) << 61 | (i & 1));
    }
  }
  printf("%ld\n", mark_sink);
}
