/* A woven shared object with one function, `work`. */
#define IMAGE "library.so"
#include "woven.h"

void work(long times) {
    if (KIND >= 4) {
        struct timed path = begin();
        while (times--)
            next(&path, 1);
        leave(path, 2);
        return;
    }
    for (long i = 0; KIND && i < times; i++)
        append(7);
    if (KIND)
        return;
    counts(1, times);
    for (long i = 0; i < times; i++)
        hash(2, i % 200);
}
