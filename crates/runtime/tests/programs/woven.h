/* What the weaver puts into a program, written by hand: image header, slot, entry test and counts.
   Compiled with -mno-red-zone: the calls in the asm statements push onto the stack. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef IMAGE
#define IMAGE "harness"
#endif
#ifndef BLOCK
#define BLOCK (4096 - 64)
#endif
#ifndef RUNS
#define RUNS ""
#endif

struct image {
    char magic[8];
    uint32_t version, kind;
    unsigned char build_id[16];
    uint64_t block_size, reserved;
    char name[80], runs[896];
};
_Static_assert(sizeof(struct image) == 1024, "abi.rs");

__attribute__((visibility("hidden"))) const struct image __holloway_image = {
    "HLWIMAGE", 1, 0, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, BLOCK, 0, IMAGE, RUNS,
};
__attribute__((visibility("hidden"), tls_model("initial-exec"))) __thread char *__holloway_slot;

static inline char *block(void) {
    char *block = __holloway_slot;
    if (__builtin_expect(!block, 0))
        __asm__ volatile("call __holloway_enter" : "=a"(block) : : "r11", "memory", "cc");
    return block;
}

/* counter `index` of an array function */
static inline void count(long index) {
    char *base = block();
    __asm__ volatile("incq (%0,%1,8)" : : "r"(base), "r"(index) : "memory", "cc");
}

/* a path of the hashed function whose head is word `index` of the block */
static inline void hash(long index, uint64_t path) {
    char *head = block() + 8 * index;
    __asm__ volatile("call __holloway_hash" : : "D"(head), "S"(path) : "r11", "memory", "cc");
}

static inline void counts(long index, long times) {
    for (long i = 0; i < times; i++)
        count(index);
}

static inline void check(int good, const char *what) {
    if (!good) {
        printf("failed: %s: %s\n", what, strerror(errno));
        exit(99);
    }
}

/* one case of a program: `./program name` */
struct scenario {
    const char *name;
    void (*run)(void);
};

static inline int choose(const struct scenario *all, int argc, char **argv) {
    for (; argc > 1 && all->name; all++)
        if (!strcmp(all->name, argv[1])) {
            all->run();
            return 0;
        }
    printf("no such scenario\n");
    return 98;
}
