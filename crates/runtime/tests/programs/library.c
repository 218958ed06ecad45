/* A woven shared object. */
#define IMAGE "library.so"
#include "woven.h"

void work(long times) {
    counts(1, times);
    for (long i = 0; i < times; i++)
        hash(2, i % 200);
}
