/* What a woven test program runs on instead of the real runtime, so that the weaver is tested alone: one block of
 * counters and a table of hashed counts in a file mapped shared (timed paths are counted apart, as woven code writes where it takes a ring's state to be), and hits of each traced line, counted by calls that the weaver
 * doesn't see. A timed path is counted in the block; STUB_BURST says after how many others a burst begins, how many it times, and which
 * of the runtime's answers are no (0: none); without it every path is timed. Built with -mgeneral-regs-only: the wrappers save the general registers only. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef BLOCK
#define BLOCK (1 << 22)
#endif
#define LINES 65536
#define HASHED 65536
#define OPERAND 0x80000000u

struct dump {
    uint64_t lines[LINES];
    struct { uint64_t head, key, count; } hashed[HASHED];
    uint64_t timed[BLOCK / 8];
    uint64_t block[BLOCK / 8];
    uint64_t ticks;
};

__attribute__((visibility("hidden"))) __thread void *__holloway_slot;
__attribute__((visibility("hidden"))) __thread int __holloway_countdown;
static struct dump *dump;

static struct dump *map(void) {
    if (!dump) {
        int file = open(getenv("STUB_DUMP"), O_RDWR | O_CREAT, 0600);
        if (file < 0 || ftruncate(file, sizeof *dump)) abort();
        dump = mmap(0, sizeof *dump, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (dump == MAP_FAILED) abort();
        close(file);
    }
    return dump;
}

void *stub_enter(void) { return __holloway_slot = map()->block; }

void stub_hash(uint64_t *head, uint64_t path) {
    uint64_t offset = (uint64_t)((char *)head - (char *)map()->block);
    uint64_t at = (offset * 31 + path * 0x9E3779B97F4A7C15) >> 48;
    for (;; at = (at + 1) % HASHED) {
        if (!dump->hashed[at].key) { dump->hashed[at].head = offset; dump->hashed[at].key = path + 1; }
        if (dump->hashed[at].head == offset && dump->hashed[at].key == path + 1) { dump->hashed[at].count++; return; }
    }
}

/* What the countdown was set to, how many paths of a burst are left, answers so far. */
static __thread int set, left;
static unsigned long answers;

static void *next(void) {
    static unsigned long burst[3] = {0, 1, 0};
    static int read;
    if (!read++ && getenv("STUB_BURST")) {
        char *text = getenv("STUB_BURST");
        for (int i = 0; i < 3; i++, text++) burst[i] = strtoul(text, &text, 10);
    }
    map()->ticks += set + 1;
    int refused = burst[2] && ++answers % burst[2] == 0;
    if (!refused) left = (left ? left : burst[1]) - 1;
    set = left && !refused ? 0 : burst[0];
    __holloway_countdown = set;
    return refused ? 0 : map()->block;
}

void *stub_burst(void) {
    if (__holloway_countdown >= 0) abort();
    return next();
}

void *stub_sample(unsigned word, uint64_t start, uint64_t inner, uint64_t end) {
    map()->timed[(word & ~OPERAND) - 1]++;
    if (word & OPERAND) return 0;
    (void)start, (void)inner, (void)end;
    return --__holloway_countdown < 0 ? next() : 0;
}

__attribute__((destructor)) static void over(void) { map()->ticks += set - __holloway_countdown; }

void trace(unsigned line) { map()->lines[line]++; }

#define SAVE "push %rax\npush %rbx\npush %rcx\npush %rdx\npush %rsi\npush %rdi\npush %rbp\npush %r8\npush %r9\npush %r10\npush %r11\npush %r12\npush %r13\npush %r14\npush %r15\nmov %rsp,%rbp\nand $-16,%rsp\n"
#define RESTORE "mov %rbp,%rsp\npop %r15\npop %r14\npop %r13\npop %r12\npop %r11\npop %r10\npop %r9\npop %r8\npop %rbp\npop %rdi\npop %rsi\npop %rdx\npop %rcx\npop %rbx\n"
__asm__(".globl __holloway_enter\n.hidden __holloway_enter\n__holloway_enter:\n" SAVE "call stub_enter\n" RESTORE
        "add $8,%rsp\nret\n");
__asm__(".globl __holloway_hash\n.hidden __holloway_hash\n__holloway_hash:\n" SAVE "call stub_hash\n" RESTORE
        "pop %rax\nret\n");
__asm__(".globl __holloway_burst\n.hidden __holloway_burst\n__holloway_burst:\n" SAVE "call stub_burst\n" RESTORE
        "add $8,%rsp\nret\n");
__asm__(".globl __holloway_sample\n.hidden __holloway_sample\n__holloway_sample:\n" SAVE "call stub_sample\n" RESTORE
        "add $8,%rsp\nret\n");
