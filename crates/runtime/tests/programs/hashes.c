/* Scenarios that count many paths of hashed functions. */
#include "woven.h"

/* A million different paths, each counted 1 to 3 times, in mixed order. */
static void million(void) {
    for (uint64_t i = 0; i < 3000000; i++) {
        uint64_t path = i * 2654435761u % 1000000;
        if (i < 1000000 + path)
            hash(2, path);
    }
}

/* Small, large, and neighboring path numbers, in two functions. */
static void corners(void) {
    static const uint64_t paths[] = {0,          1,          2,
                                     0x7fffffff, 0x80000000, 0xffffffff,
                                     1ul << 40,  1ul << 62,  (1ul << 63) - 1};
    for (int times = 1; times <= 3; times++)
        for (unsigned i = 0; i < sizeof paths / sizeof *paths; i++)
            for (int t = 0; t < times; t++) {
                hash(2, paths[i]);
                if (i % 2)
                    hash(3, paths[i]);
            }
}

/* Paths whose search begins at the last slot of the first segment. The search continues at the
   first slot. */
static void colliding(void) {
    int paths = 0;
    for (uint64_t path = 0; paths < 90; path++)
        if (((path + 1) * 0x9E3779B97F4A7C15ul) >> 57 == 127) {
            for (int times = 0; times <= paths; times++)
                hash(2, path);
            paths++;
        }
}

static void *many(void *unused) {
    for (uint64_t path = 0; path < 20000; path++)
        hash(2, path * path);
    return unused;
}
static void threads(void) {
    pthread_t ids[20];
    for (int i = 0; i < 20; i++)
        pthread_create(&ids[i], 0, many, 0);
    for (int i = 0; i < 20; i++)
        pthread_join(ids[i], 0);
}

int main(int argc, char **argv) {
    static const struct scenario all[] = {
        {"million", million},     {"corners", corners}, {"colliding", colliding},
        {"threads", threads}, {0, 0},
    };
    return choose(all, argc, argv);
}
