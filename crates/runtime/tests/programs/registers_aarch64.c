/* Checks that the entry points for AArch64 preserve every register except x16, x17, and x30, and
   except x0 if there is a result. This includes the SVE registers if the processor has them.
   `__holloway_hash` does not preserve x0 to x8. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#define HIDDEN __attribute__((visibility("hidden")))
#define HWCAP_OF_SVE (1 << 22)
enum { GENERAL = 30, VECTORS = 32, LONGEST = 256 };

struct image {
    char magic[8];
    uint32_t version, kind;
    unsigned char build_id[16];
    uint64_t block_size, parameter;
    char name[80], runs[896];
};
HIDDEN const struct image __holloway_image = {
    "HLWIMAGE", 2, KIND, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
    4096 - 64, 0, "harness", "",
};
HIDDEN __attribute__((tls_model("initial-exec"))) __thread char *__holloway_slot;
HIDDEN __attribute__((tls_model("initial-exec"))) extern __thread int32_t __holloway_countdown;
HIDDEN void __holloway_enter(void);
HIDDEN void __holloway_hash(void);
HIDDEN void __holloway_chunk(void);
HIDDEN void __holloway_caught(void);
HIDDEN void __holloway_burst(void);
HIDDEN void __holloway_sample(void);

/* Contents of the registers: the general registers, then the vectors in their full length. */
struct registers {
    uint64_t x[GENERAL + 2];
    unsigned char vectors[VECTORS * LONGEST];
};
HIDDEN struct registers probe_in, probe_out;
HIDDEN void (*probe_function)(void);
HIDDEN uint64_t probe_sve;
void probe(void);

__asm__(".arch armv8-a+sve\n"
        ".macro vectors does\n"
        "ldr x30, [sp, #160]\n" /* does the processor have SVE? */
        "cbz x30, 7f\n"
        ".irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
        "adrp x30, probe_\\does\\()_base\nldr x30, [x30, #:lo12:probe_\\does\\()_base]\n"
        "\\does z\\i, [x30, #\\i, mul vl]\n"
        ".endr\n"
        "b 8f\n7:\n"
        ".irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
        "adrp x30, probe_\\does\\()_base\nldr x30, [x30, #:lo12:probe_\\does\\()_base]\n"
        "\\does q\\i, [x30, #16*\\i]\n"
        ".endr\n8:\n"
        ".endm\n"
        ".data\n.balign 8\n"
        "probe_ldr_base: .xword probe_in + 256\nprobe_str_base: .xword probe_out + 256\n"
        ".text\n.globl probe\n.type probe, %function\n"
        "probe:\n"
        "sub sp, sp, #176\n"
        "stp x19, x20, [sp]\nstp x21, x22, [sp, #16]\n"
        "stp x23, x24, [sp, #32]\nstp x25, x26, [sp, #48]\n"
        "stp x27, x28, [sp, #64]\nstp x29, x30, [sp, #80]\n"
        "stp d8, d9, [sp, #96]\nstp d10, d11, [sp, #112]\n"
        "stp d12, d13, [sp, #128]\nstp d14, d15, [sp, #144]\n"
        "adrp x0, probe_sve\nldr x0, [x0, #:lo12:probe_sve]\nstr x0, [sp, #160]\n"
        "vectors ldr\n"
        "adrp x30, probe_in\nadd x30, x30, #:lo12:probe_in\n"
        "ldp x0, x1, [x30]\nldp x2, x3, [x30, #16]\n"
        "ldp x4, x5, [x30, #32]\nldp x6, x7, [x30, #48]\n"
        "ldp x8, x9, [x30, #64]\nldp x10, x11, [x30, #80]\n"
        "ldp x12, x13, [x30, #96]\nldp x14, x15, [x30, #112]\n"
        "ldp x16, x17, [x30, #128]\nldp x18, x19, [x30, #144]\n"
        "ldp x20, x21, [x30, #160]\nldp x22, x23, [x30, #176]\n"
        "ldp x24, x25, [x30, #192]\nldp x26, x27, [x30, #208]\nldp x28, x29, [x30, #224]\n"
        "adrp x30, probe_function\nldr x30, [x30, #:lo12:probe_function]\n"
        "blr x30\n"
        "adrp x30, probe_out\nadd x30, x30, #:lo12:probe_out\n"
        "stp x0, x1, [x30]\nstp x2, x3, [x30, #16]\n"
        "stp x4, x5, [x30, #32]\nstp x6, x7, [x30, #48]\n"
        "stp x8, x9, [x30, #64]\nstp x10, x11, [x30, #80]\n"
        "stp x12, x13, [x30, #96]\nstp x14, x15, [x30, #112]\n"
        "stp x16, x17, [x30, #128]\nstp x18, x19, [x30, #144]\n"
        "stp x20, x21, [x30, #160]\nstp x22, x23, [x30, #176]\n"
        "stp x24, x25, [x30, #192]\nstp x26, x27, [x30, #208]\nstp x28, x29, [x30, #224]\n"
        "vectors str\n"
        "ldp x19, x20, [sp]\nldp x21, x22, [sp, #16]\n"
        "ldp x23, x24, [sp, #32]\nldp x25, x26, [sp, #48]\n"
        "ldp x27, x28, [sp, #64]\nldp x29, x30, [sp, #80]\n"
        "ldp d8, d9, [sp, #96]\nldp d10, d11, [sp, #112]\n"
        "ldp d12, d13, [sp, #128]\nldp d14, d15, [sp, #144]\n"
        "add sp, sp, #176\nret\n");

static void run(const char *what, void (*function)(void), uint64_t x0, uint64_t x1) {
    static uint64_t seed = 88172645463325252;
    uint64_t *words = (uint64_t *)&probe_in;
    for (unsigned i = 0; i < sizeof probe_in / 8; i++)
        seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17, words[i] = seed;
    probe_in.x[0] = x0, probe_in.x[1] = x1;
    probe_function = function;
    probe();
    int is_result = function != __holloway_chunk && function != __holloway_caught;
    for (int i = 0; i < GENERAL; i++) {
        if (i == 16 || i == 17 || (i == 0 && is_result) || (i < 9 && function == __holloway_hash))
            continue;
        if (probe_in.x[i] != probe_out.x[i])
            printf("%s: x%d changed\n", what, i), exit(1);
    }
    uint64_t length = 16;
    if (probe_sve)
        __asm__("rdvl %0, #1" : "=r"(length));
    if (memcmp(probe_in.vectors, probe_out.vectors, VECTORS * length))
        printf("%s: a vector changed\n", what), exit(1);
    if (function == __holloway_enter && probe_out.x[0] != (uint64_t)__holloway_slot)
        printf("%s: wrong result\n", what), exit(1);
}

static void append(uint32_t word) {
    uint64_t position = __atomic_fetch_add((uint64_t *)__holloway_slot, 4, __ATOMIC_RELAXED);
    uint64_t offset = position & (RING_SIZE - 1);
    *(volatile uint32_t *)(__holloway_slot + 4032 + offset) = word;
    if (!(offset & 0xffff))
        run("chunk", __holloway_chunk, 7, 8);
}

static void *body(void *unused) {
    run("enter, first of a thread", __holloway_enter, 0, 0);
    run("enter, slot set", __holloway_enter, 0, 0);
    for (int i = 0; KIND >= 4 && i < 5000; i++) {
        __holloway_countdown = -1;
        run("burst", __holloway_burst, 0, 0);
        run("sample", __holloway_sample, 1 + i, *(uint64_t *)(__holloway_slot + 128) + i);
    }
    for (int chunks = 0; KIND == 2 && chunks < 40; chunks++) { /* the ring fills and spools */
        for (int i = 0; i < 16384; i++)
            append(1 + i);
        run("caught", __holloway_caught, *(volatile uint64_t *)__holloway_slot | 1, chunks);
    }
    uint64_t segment_pointer = (uint64_t)(__holloway_slot + 16);
    for (uint64_t path = 0; KIND == 0 && path < 3000; path++) {
        run("hash, new path", __holloway_hash, segment_pointer, path * path);
        run("hash, known path", __holloway_hash, segment_pointer, path * path);
        run("hash, earlier path", __holloway_hash, segment_pointer, path / 2 * (path / 2));
    }
    return unused;
}

int main(void) {
    probe_sve = getauxval(AT_HWCAP) & HWCAP_OF_SVE;
    pthread_t id;
    body(0);
    pthread_create(&id, 0, body, 0);
    pthread_join(id, 0);
    return 0;
}
