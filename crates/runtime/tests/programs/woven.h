/* The code that the weaver adds to a program, written by hand: image header, slot, test of the
   slot, counts, words, and timed paths. Programs need -mno-red-zone, because the calls in the asm
   statements push onto the stack. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
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
#ifndef KIND
#define KIND 0
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
_Static_assert(sizeof(struct image) == 1024, "holloway_abi");

__attribute__((visibility("hidden"))) const struct image __holloway_image = {
    "HLWIMAGE", 2, KIND, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, BLOCK, 0, IMAGE, RUNS,
};
__attribute__((visibility("hidden"), tls_model("initial-exec"))) __thread char *__holloway_slot;

static inline char *block(void) {
    char *block = __holloway_slot;
    if (__builtin_expect(!block, 0))
        __asm__ volatile("call __holloway_enter" : "=a"(block) : : "r11", "memory", "cc");
    return block;
}

/* Adds 1 to counter `index` of the block. */
static inline void count(long index) {
    char *base = block();
    __asm__ volatile("incq (%0,%1,8)" : : "r"(base), "r"(index) : "memory", "cc");
}

/* Counts a path of the hashed function whose segment pointer is word `index` of the block. */
static inline void hash(long index, uint64_t path) {
    char *segment_pointer = block() + 8 * index;
    __asm__ volatile("call __holloway_hash" : : "D"(segment_pointer), "S"(path) : "r11", "memory", "cc");
}

/* Appends a word to the thread's ring (streams), as the weaver's code does. */
static inline void append(uint32_t word) {
    char *ring = block();
    uint64_t position = 4;
    __asm__ volatile("xaddq %0, (%1)\n\t"
                     "andl %3, %k0\n\t"
                     "movl %2, 4032(%1,%0)\n\t"
                     "testw %w0, %w0\n\t"
                     "jne 1f\n\t"
                     "call __holloway_chunk\n"
                     "1:"
                     : "+&r"(position)
                     : "r"(ring), "r"(word), "i"(RING_SIZE - 1)
                     : "memory", "cc");
}

/* The stream position after the last word. */
static inline uint64_t cursor(void) { return *(volatile uint64_t *)block(); }

/* Appends a record: control came back to a frame. */
static inline void caught(uint64_t position, uint32_t catcher) {
    __asm__ volatile("call __holloway_caught" : : "D"(position), "S"(catcher) : "r11", "memory", "cc");
}

/* Timed paths. Woven functions have two copies: checking code and timed code. Here, one copy serves
   as both: the ring is null in checking code. */
__attribute__((visibility("hidden"), tls_model("initial-exec"))) extern __thread int32_t __holloway_countdown;

struct timed {
    char *ring; /* null: this path is not timed */
    uint64_t start, inner;
};

static inline uint64_t start_clock(void) {
    uint32_t low, high;
    __asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high) : : "memory");
    return (uint64_t)high << 32 | low;
}

/* Begins a path after a visit of the runtime. The path is timed unless the result of the visit, the
   ring, is null. */
static inline struct timed begin_after_visit(char *ring) {
    if (!ring)
        return (struct timed){0, 0, 0};
    volatile uint64_t *state = (uint64_t *)(ring + 128);
    uint64_t inner = state[1], start = state[2];
    uint64_t now = start_clock();
    state[1] = inner;
    state[2] = start;
    state[0] = now - start;
    return (struct timed){ring, start, inner};
}

/* Begins a path at a function's entry, or in checking code. */
static inline struct timed begin(void) {
    char *ring = 0;
    if (KIND == 5) {
        const volatile uint64_t *state = (uint64_t *)(block() + 128);
        uint64_t inner = state[1], probe = state[0];
        return (struct timed){block(), start_clock() - probe, inner};
    }
    if (__builtin_expect(--__holloway_countdown < 0, 0))
        __asm__ volatile("call __holloway_burst" : "=a"(ring) : : "r11", "memory", "cc");
    return begin_after_visit(ring);
}

/* Ends a path with this word, and returns the result of the runtime. */
static inline char *end_of(struct timed path, uint32_t word) {
    uint32_t low, high;
    char *ring;
    __asm__ volatile("lfence\n\trdtsc" : "=a"(low), "=d"(high) : : "memory");
    __asm__ volatile("call __holloway_sample"
                     : "=a"(ring)
                     : "D"(word), "S"(path.start), "d"(path.inner), "c"((uint64_t)high << 32 | low)
                     : "r11", "memory", "cc");
    return ring;
}

/* Ends a path, and begins the next path. */
static inline void next(struct timed *path, uint32_t word) {
    *path = path->ring ? begin_after_visit(end_of(*path, word)) : begin();
}

/* Ends the last path of a function. */
static inline void leave(struct timed path, uint32_t word) {
    if (path.ring)
        end_of(path, word | 1u << 31);
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

static inline void write_file(const char *path, const char *text) {
    int file = open(path, O_WRONLY);
    check(file >= 0 && write(file, text, strlen(text)) > 0, path);
    close(file);
}

/* Enters a user namespace in which this process may mount file systems. */
static inline void namespace(void) {
    char line[64];
    int user = getuid(), group = getgid();
    check(!unshare(CLONE_NEWUSER | CLONE_NEWNS), "unshare");
    write_file("/proc/self/setgroups", "deny");
    snprintf(line, sizeof line, "0 %d 1", user);
    write_file("/proc/self/uid_map", line);
    snprintf(line, sizeof line, "0 %d 1", group);
    write_file("/proc/self/gid_map", line);
}

/* A scenario of a program, which runs with `./program NAME`. */
struct scenario {
    const char *name;
    void (*run)(void);
};

/* Runs the scenario that the command line names. */
static inline int choose(const struct scenario *all, int argc, char **argv) {
    for (; argc > 1 && all->name; all++)
        if (!strcmp(all->name, argv[1])) {
            all->run();
            return 0;
        }
    printf("no such scenario\n");
    return 98;
}
