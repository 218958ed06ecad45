/* The weaver's additions to a program, written by hand: image header, slot, entry test, and counts.
   Compiled with -mno-red-zone: the calls in the asm statements push onto the stack. */
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

/* appends a word to the thread's ring (streams), as the weaver's code does */
static inline void append(uint32_t word) {
    char *ring = block();
    uint64_t place = 4;
    __asm__ volatile("xaddq %0, (%1)\n\t"
                     "andl %3, %k0\n\t"
                     "movl %2, 4032(%1,%0)\n\t"
                     "testw %w0, %w0\n\t"
                     "jne 1f\n\t"
                     "call __holloway_chunk\n"
                     "1:"
                     : "+&r"(place)
                     : "r"(ring), "r"(word), "i"(RING_SIZE - 1)
                     : "memory", "cc");
}

/* stream position after the last word */
static inline uint64_t cursor(void) { return *(volatile uint64_t *)block(); }

/* appends a record: control came back to a frame */
static inline void caught(uint64_t position, uint32_t catcher) {
    __asm__ volatile("call __holloway_caught" : : "D"(position), "S"(catcher) : "r11", "memory", "cc");
}

/* Timed paths. One copy stands for both of a function: the ring is null in checking code. */
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

/* the runtime's answer is the ring: this path is timed, unless it is null */
static inline struct timed go_on(char *ring) {
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

/* a path begins at a function's entry, or in checking code */
static inline struct timed begin(void) {
    char *ring = 0;
    if (KIND == 5) {
        const volatile uint64_t *state = (uint64_t *)(block() + 128);
        uint64_t inner = state[1], probe = state[0];
        return (struct timed){block(), start_clock() - probe, inner};
    }
    if (__builtin_expect(--__holloway_countdown < 0, 0))
        __asm__ volatile("call __holloway_burst" : "=a"(ring) : : "r11", "memory", "cc");
    return go_on(ring);
}

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

/* a path ends, and the next path begins */
static inline void next(struct timed *path, uint32_t word) {
    *path = path->ring ? go_on(end_of(*path, word)) : begin();
}

/* the function's last path ends */
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

/* Enters a namespace in which this user may mount. */
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

/* a scenario of a program: `./program name` */
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
