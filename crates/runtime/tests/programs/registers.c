/* Checks that the entry points preserve every register except r11, and except rax if there is a
   result. __holloway_chunk also preserves r11. */
#include "woven.h"

enum { RAX = 0, RSP = 4, RSI = 6, RDI = 7, R11 = 11, GENERAL = 16, VECTORS = 16, VECTOR = 8 };
extern uint64_t probe_in[280], probe_out[280], probe_level, probe_shift;
extern void (*probe_function)(void);
void probe(void);
__attribute__((visibility("hidden"))) void __holloway_enter(void);
__attribute__((visibility("hidden"))) void __holloway_hash(void);
__attribute__((visibility("hidden"))) void __holloway_chunk(void);
__attribute__((visibility("hidden"))) void __holloway_caught(void);
__attribute__((visibility("hidden"))) void __holloway_burst(void);
__attribute__((visibility("hidden"))) void __holloway_sample(void);

/* Prints a register that changed. Ends the program after 20 of them. */
static void changed(const char *what, const char *kind, int number) {
    static int printed;
    printf("%s: %s %d changed\n", what, kind, number);
    if (++printed == 20)
        exit(1);
}

static void run(const char *what, void (*function)(void), void *rdi, uint64_t rsi) {
    static uint64_t seed = 88172645463325252;
    for (int i = 0; i < 280; i++) {
        seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
        probe_in[i] = seed;
        probe_out[i] = 0;
    }
    if (rdi)
        probe_in[RDI] = (uint64_t)rdi, probe_in[RSI] = rsi;
    probe_function = function;
    probe();
    for (int i = 0; i < GENERAL; i++) {
        if (i == R11 && function != __holloway_chunk)
            continue;
        if (i == RAX && function != __holloway_chunk && function != __holloway_hash &&
            function != __holloway_caught)
            continue;
        if (probe_out[i] != (i == RSP ? 0 : probe_in[i]))
            changed(what, "general register", i);
    }
    int vectors = probe_level == 2 ? 32 : 16, words = 2 << probe_level;
    for (int v = 0; v < vectors; v++)
        for (int w = 0; w < words; w++)
            if (probe_in[VECTORS + VECTOR * v + w] != probe_out[VECTORS + VECTOR * v + w])
                changed(what, w < 2 ? "vector" : "upper part of vector", v);
    for (int k = 0; probe_level == 2 && k < 8; k++)
        if (probe_in[272 + k] != probe_out[272 + k])
            changed(what, "mask", k);
    if (function == __holloway_enter && probe_out[RAX] != (uint64_t)__holloway_slot)
        printf("%s: wrong result\n", what);
}

static void series(int words) {
    while (words--)
        append(1 + words);
}

static void *body(void *unused) {
    run("enter, first in the process or a new thread", __holloway_enter, 0, 0);
    __holloway_slot = 0;
    run("enter, own block again", __holloway_enter, 0, 0);
    run("enter, slot set", __holloway_enter, 0, 0);
    if (KIND >= 4) {
        uint64_t *probe = (uint64_t *)(__holloway_slot + 128);
        /* The calls begin chunks, the thread spools, and the thread may be preempted. */
        for (int i = 0; i < 40000; i++) {
            __holloway_countdown = -1;
            if (i % 8 == 0 || i < 100)
                run("burst", __holloway_burst, 0, 0);
            run("sample", __holloway_sample, (void *)(uint64_t)(1 + i), *probe + i);
            if (i % 1000 == 0)
                sched_yield(); /* the next visit checks for interruptions */
        }
        __holloway_slot = 0;
        run("burst, first of a thread", __holloway_burst, 0, 0);
        return unused;
    }
    if (KIND) {
        for (int chunks = 0; chunks < 40; chunks++) {
            series(16384);
            uint64_t position = cursor(); /* the ring fills, so one of twelve calls spools */
            run("caught", __holloway_caught, (void *)(position | 1), chunks);
            *(uint64_t *)__holloway_slot = position - position % 65536 + 4 * 65536 + 4;
            run("chunk", __holloway_chunk, 0, 0);
        }
        return unused;
    }
    uint64_t *segment_pointer = (uint64_t *)__holloway_slot + 2;
    for (uint64_t path = 0; path < 3000; path++) {
        run("hash, new path", __holloway_hash, segment_pointer, path * path);
        run("hash, known path", __holloway_hash, segment_pointer, path * path);
        run("hash, earlier path", __holloway_hash, segment_pointer, path / 2 * (path / 2));
    }
    return unused;
}

int main(void) {
    __builtin_cpu_init();
    int most = __builtin_cpu_supports("avx512bw") ? 2 : __builtin_cpu_supports("avx") ? 1 : 0;
    for (probe_shift = 0; probe_shift <= 8; probe_shift += 8)
        for (int level = most; level >= 0; level--) {
            probe_level = level;
            pthread_t id;
            body(0);
            pthread_create(&id, 0, body, 0);
            pthread_join(id, 0);
            __holloway_slot = 0;
        }
    return 0;
}
