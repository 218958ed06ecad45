/* What a woven test program runs on instead of the real runtime, where paths go to a stream: one ring, and what was taken out of it, in a file
 * mapped shared; and the traced lines in their order, told by calls that the weaver doesn't see. Built with -mgeneral-regs-only: the wrappers save
 * the general registers only, and with RING_SIZE. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096
#define CHUNK (1 << 16)
#define LOG (1 << 22)
#define LINES (1 << 20)
#define BESIDE (1 << 18)
#define CAUGHT 0xFFFFFF01u
#define OPERAND 0x80000000u

struct dump {
    uint64_t cursor, more[7];
    char pad[PAGE - 128];
    uint32_t words[RING_SIZE / 4];
    uint64_t beside[BESIDE];
    uint64_t taken, traced;
    uint32_t lines[LINES];
    uint32_t log[LOG];
};

__attribute__((visibility("hidden"))) __thread void *__holloway_slot;
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

void *stub_enter(void) { return __holloway_slot = map(); }

/* Takes out all words up to the first that isn't written yet: that one's writer was interrupted by a signal handler, who is here. */
void stub_chunk(void) {
    while (dump->taken < dump->cursor && dump->taken / 4 < LOG) {
        volatile uint32_t *word = &dump->words[dump->taken % RING_SIZE / 4];
        if (!*word) break;
        dump->log[dump->taken / 4] = *word;
        *word = 0;
        dump->taken += 4;
    }
    if (dump->cursor - dump->taken > RING_SIZE - CHUNK) abort();
}

static void append(uint32_t word) {
    uint64_t place = __atomic_fetch_add(&dump->cursor, 4, __ATOMIC_RELAXED);
    dump->words[place % RING_SIZE / 4] = word;
    if (place % CHUNK == 0) stub_chunk();
}

void stub_caught(uint64_t position, uint32_t catcher) {
    append(CAUGHT);
    append(OPERAND | (position / 4 & ~OPERAND));
    append(OPERAND | (position / 4 >> 31));
    append(OPERAND | catcher);
}

void trace(unsigned line) {
    if (map()->traced < LINES) dump->lines[dump->traced++] = line;
}

#define SAVE "push %rax\npush %rbx\npush %rcx\npush %rdx\npush %rsi\npush %rdi\npush %rbp\npush %r8\npush %r9\npush %r10\npush %r11\npush %r12\npush %r13\npush %r14\npush %r15\nmov %rsp,%rbp\nand $-16,%rsp\n"
#define RESTORE "mov %rbp,%rsp\npop %r15\npop %r14\npop %r13\npop %r12\npop %r11\npop %r10\npop %r9\npop %r8\npop %rbp\npop %rdi\npop %rsi\npop %rdx\npop %rcx\npop %rbx\n"
#define ENTRY(name) __asm__(".globl __holloway_" #name "\n.hidden __holloway_" #name "\n__holloway_" #name ":\n" SAVE "call stub_" #name "\n" RESTORE
ENTRY(enter) "add $8,%rsp\nret\n");
ENTRY(chunk) "pop %rax\nret\n");
ENTRY(caught) "pop %rax\nret\n");
/* Every module asks for it; in streams none calls it. */
__asm__(".globl __holloway_hash\n.hidden __holloway_hash\n__holloway_hash: ud2\n");
