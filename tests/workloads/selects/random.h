// Random numbers for the programs of this folder (xorshift, Marsaglia 2003).
#include <stdint.h>
static uint64_t random_state = 88172645463325252u;
static inline uint64_t random_word(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state;
}
