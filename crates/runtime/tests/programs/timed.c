/* Scenarios with timed paths. */
#ifndef KIND
#define KIND 5
#endif
#include "woven.h"
#include <dlfcn.h>
#include <setjmp.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>

enum { MANY = 1000000 };

static void await(pid_t child) {
    int status;
    check(waitpid(child, &status, 0) == child, "waitpid");
    check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "exit of the child");
}

/* Runs a chain of multiplications, whose time hardly varies. */
static inline void work(long times) {
    uint64_t value = 3;
    while (times--)
        __asm__ volatile("imulq %0, %0" : "+r"(value) : : "cc");
}

/* A function with a loop. The words of its paths repeat first, first + 1, first + 2. The word of
   the last path is first + 3. */
static void loop(uint32_t first, long times) {
    struct timed path = begin();
    for (long i = 0; i < times; i++)
        next(&path, first + i % 3);
    leave(path, first + 3);
}

static void many(void) { loop(1, 100000); }

static void million(void) { loop(1, MANY); }
static void bursts(void) { loop(1, 30 * MANY); }

/* A function with one path and no loop. */
static void __attribute__((noinline)) leaf(uint32_t word, long times) {
    struct timed path = begin();
    work(times);
    leave(path, word);
}

/* Paths that call functions with other paths. */
static void nested(void) {
    for (int i = 0; i < 1000; i++) {
        struct timed path = begin();
        work(100);
        leaf(1, 200);
        leaf(2, 300);
        next(&path, 3);
        work(50);
        leave(path, 4);
    }
}

/* A path calls many tiny paths. The time of their probes must not count for the calling path. */
static void crowded(void) {
    for (int i = 0; i < 200; i++) {
        struct timed path = begin();
        for (int j = 0; j < 1000; j++)
            leaf(1, 0);
        leave(path, 2);
    }
}

/* Paths without work, with 1,000 multiplications, and with 2,000 multiplications. */
static void known(void) {
    for (int i = 0; i < 20000; i++) {
        leaf(1, 0);
        leaf(2, 1000);
        leaf(3, 2000);
    }
}

/* Every second path calls a function whose paths are mostly untimed. */
static void calls(void) {
    struct timed path = begin();
    for (long i = 0; i < 10 * MANY; i++) {
        int calling = i % 2;
        if (calling)
            leaf(9, 0);
        next(&path, 1 + calling);
    }
    leave(path, 3);
}

/* Threads that are much shorter than the interval between two bursts. */
static void *briefly(void *unused) {
    loop(1, 30);
    return unused;
}
static void brief(void) {
    for (int i = 0; i < 20000; i++) {
        pthread_t id;
        check(!pthread_create(&id, 0, briefly, 0), "pthread_create");
        pthread_join(id, 0);
    }
}

static void *in_thread(void *first) {
    loop((intptr_t)first, 200000);
    return 0;
}
static void threads(void) {
    pthread_t ids[4];
    for (intptr_t i = 0; i < 4; i++)
        check(!pthread_create(&ids[i], 0, in_thread, (void *)(1 + 10 * i)), "pthread_create");
    for (int i = 0; i < 4; i++)
        pthread_join(ids[i], 0);
}

static long switches(void) {
    struct rusage usage;
    check(!getrusage(RUSAGE_THREAD, &usage), "getrusage");
    return usage.ru_nivcsw;
}
static void pin(int processor) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    check(!sched_setaffinity(0, sizeof set, &set), "sched_setaffinity");
}
static int processors(int *list, int most) {
    cpu_set_t set;
    int count = 0;
    check(!sched_getaffinity(0, sizeof set, &set), "sched_getaffinity");
    for (int i = 0; i < CPU_SETSIZE && count < most; i++)
        if (CPU_ISSET(i, &set))
            list[count++] = i;
    return count;
}

/* Another process runs on the same processor. Main checks which of its paths were preempted: these
   paths have the word 2, and the other paths have the word 1. Paths with the word 3 sleep. A signal
   interrupts paths with the word 4. */
static void ignores(int signal) { (void)signal; }
static void preempted(void) {
    int list[1];
    check(processors(list, 1) == 1, "a processor");
    pin(list[0]);
    signal(SIGUSR1, ignores);
    pid_t busy = fork();
    if (!busy)
        for (;;)
            ;
    for (int preemptions = 0; preemptions < 10;) {
        struct timed path = begin();
        long before = switches();
        work(20000);
        int was_preempted = switches() != before;
        preemptions += was_preempted;
        leave(path, 1 + was_preempted);
    }
    kill(busy, SIGKILL);
    waitpid(busy, 0, 0);
    for (int i = 0; i < 20; i++) {
        struct timed path = begin();
        usleep(1);
        leave(path, 3);
        path = begin();
        raise(SIGUSR1);
        leave(path, 4);
    }
}

/* A thread that moves main to a processor. */
static struct {
    int back[2], to_mover[2], list[2], count;
    pid_t moved;
} moves;
static void *mover(void *unused) {
    for (unsigned char index; read(moves.to_mover[0], &index, 1) == 1;) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(moves.list[index], &set);
        usleep(200);
        check(!sched_setaffinity(moves.moved, sizeof set, &set), "sched_setaffinity");
        check(write(moves.back[1], &index, 1) == 1, "write");
    }
    return unused;
}
static pthread_t start_mover(void) {
    pthread_t id;
    moves.count = processors(moves.list, 2);
    moves.moved = syscall(SYS_gettid);
    check(!pipe(moves.back) && !pipe(moves.to_mover), "pipe");
    check(!pthread_create(&id, 0, mover, 0), "pthread_create");
    return id;
}
static void stop_mover(pthread_t id) {
    close(moves.to_mover[1]);
    pthread_join(id, 0);
}
static void move_to(unsigned char index) {
    check(write(moves.to_mover[1], &index, 1) == 1, "write");
}
static void await_move(void) {
    char index;
    check(read(moves.back[0], &index, 1) == 1, "read");
}

/* Every second path moves to another processor while it runs. These paths have the word 2. */
static void migrated(void) {
    pthread_t id = start_mover();
    for (int i = 0; i < 100; i++) {
        pin(moves.list[0]);
        struct timed path = begin();
        if (i % 2) {
            move_to(moves.count - 1);
            while (sched_getcpu() != moves.list[moves.count - 1])
                ;
        }
        leave(path, 1 + i % 2);
        if (i % 2)
            await_move();
    }
    stop_mover(id);
    printf("%d\n", moves.count);
}

/* Paths sleep, and wake up on another processor, because the thread may no longer run on the old
   processor. Their word is 1, or 2 if they were preempted as well. */
static void woken(void) {
    pthread_t id = start_mover();
    for (int i = 0; i < 200; i++) {
        struct timed path = begin();
        long before = switches();
        move_to(i % moves.count);
        await_move();
        leave(path, 1 + (switches() != before));
    }
    stop_mover(id);
}

/* A path begins in one thread and continues in a new thread, as fibers do. */
static struct timed handed;
static void *continues(void *argument) {
    next(&handed, 5);
    for (int i = 0; i < 1000; i++)
        next(&handed, 6);
    leave(handed, 7);
    return argument;
}
static void handed_on(void) {
    pthread_t id;
    leaf(1, 0);
    handed = begin();
    check(!pthread_create(&id, 0, continues, 0), "pthread_create");
    pthread_join(id, 0);
    for (int i = 0; i < 1000; i++)
        leaf(2, 0);
}

/* The program stores a critical section in `rseq_cs`, as another library could. The runtime must
   not overwrite it. */
extern const long __rseq_offset __attribute__((weak));
static void foreign(void) {
    static struct {
        uint32_t version, flags;
        uint64_t start, length, abort;
        uint32_t signature, after;
    } __attribute__((aligned(32))) section = {.length = 1, .signature = 0x53053053};
    section.start = (uint64_t)&section.version, section.abort = (uint64_t)&section.after;
    volatile uint64_t *field = (uint64_t *)((char *)__builtin_thread_pointer() + __rseq_offset + 8);
    leaf(1, 0);
    long kept = 0;
    for (int i = 0; i < 1000; i++) {
        *field = (uint64_t)&section;
        leaf(1, 0);
        kept += *field == (uint64_t)&section;
    }
    *field = 0;
    check(kept > 900, "the field");
    for (int i = 0; i < 1000; i++)
        leaf(2, 0);
    check(*field != 0, "the field again");
}

/* A fork in a timed path: parent and child both continue the path. */
static void forked(void) {
    loop(1, 1000);
    struct timed path = begin();
    pid_t child = fork();
    if (!child) {
        leave(path, 10);
        loop(11, 1000);
        _exit(0);
    }
    await(child);
    leave(path, 20);
    loop(21, 1000);
}
/* Children that are much shorter than the interval between two bursts. */
static void brood(void) {
    leaf(9, 0);
    for (int i = 0; i < 1000; i++) {
        pid_t child = fork();
        if (!child) {
            loop(1, 30);
            _exit(0);
        }
        await(child);
    }
}
static void fork_at_once(void) {
    for (int i = 0; i < 20; i++) {
        struct timed path = begin();
        pid_t child = fork();
        leave(path, child ? 20 : 10);
        if (!child)
            _exit(0);
        for (int j = 0; j < 3; j++)
            leaf(1, 0);
        await(child);
    }
}
static void vforked(void) {
    struct timed path = begin();
    pid_t child = vfork();
    if (!child) {
        leaf(1, 0);
        _exit(0);
    }
    await(child);
    leave(path, 2);
}
static void raw(void) {
    loop(1, 1000);
    struct timed path = begin();
    pid_t child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (!child) {
        __asm__ volatile("call __holloway_chunk" : : : "memory", "cc");
        leave(path, 10);
        loop(11, 100000);
        syscall(SYS_exit_group, 0);
    }
    await(child);
    leave(path, 20);
    loop(21, 1000);
}

/* Signal handlers run timed paths. */
static volatile long handled;
static void handles(int signal) {
    (void)signal;
    handled++;
    leaf(100, 0);
}
static void storm(void) {
    static struct itimerval often = {{0, 100}, {0, 100}}, never;
    struct sigaction action = {.sa_handler = handles, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, 0);
    setitimer(ITIMER_REAL, &often, 0);
    loop(1, MANY);
    setitimer(ITIMER_REAL, &never, 0);
    printf("%ld\n", handled);
}

/* A trap occurs after each instruction of main and of the runtime. Its handler runs a timed
   path. */
static void every_instruction(void) {
    signal(SIGTRAP, handles);
    leaf(99, 0);
    __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" : : : "memory", "cc");
    loop(1, 30);
    __asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" : : : "memory", "cc");
    printf("%ld\n", handled);
}

/* Handlers jump out of any interrupted code. */
static sigjmp_buf back;
static volatile long finished, jumped;
static void jumps(int signal) {
    (void)signal;
    jumped++;
    siglongjmp(back, 1);
}
static void jumping(void) {
    static struct itimerval often = {{0, 100}, {0, 100}}, never;
    signal(SIGALRM, jumps);
    leaf(1, 0);
    sigsetjmp(back, 1);
    setitimer(ITIMER_REAL, &often, 0);
    while (finished < MANY) {
        leaf(2, 0);
        finished++;
    }
    setitimer(ITIMER_REAL, &never, 0);
    printf("%ld %ld\n", finished, jumped);
}

static void until_killed(void) {
    volatile long *finished = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, 0, 0);
    check(finished != MAP_FAILED, "mmap of stdin");
    for (long i = 0;; i++) {
        leaf(1 + i, 0);
        *finished = i + 1;
    }
}

/* The limit leaves half of the space that the samples need at least. Their compressed size depends
   on how regular the clock is. */
static void size_limit(void) {
    struct rlimit few = {RING_SIZE + (1 << 20), RLIM_INFINITY};
    check(!setrlimit(RLIMIT_FSIZE, &few), "setrlimit");
    loop(1, MANY);
}

/* Prints the stack sizes of the first visit of the runtime and of a later visit. */
static void visits(int signal) {
    (void)signal;
    leaf(1, 0);
}
static void touches(int signal) { (void)signal; }
static long used_by(void (*function)(int)) {
    enum { SIZE = 16384 };
    static char stack[SIZE] __attribute__((aligned(64)));
    memset(stack, 0x5a, SIZE);
    stack_t alternate = {.ss_sp = stack, .ss_size = SIZE};
    sigaltstack(&alternate, 0);
    struct sigaction action = {.sa_handler = function, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR2, &action, 0);
    raise(SIGUSR2);
    long untouched = 0;
    while (stack[untouched] == 0x5a)
        untouched++;
    return SIZE - untouched;
}
static void on_small_stack(void) {
    long plain = used_by(touches), first = used_by(visits);
    printf("%ld %ld\n", first - plain, used_by(visits) - plain);
}

/* After a library is unloaded, `rseq_cs` must not contain an address in the library. */
static void unloaded(void) {
    for (int i = 0; i < 50; i++) {
        void *library = dlopen("./timed-library.so", RTLD_NOW | RTLD_LOCAL);
        check(library != 0, "dlopen");
        void (*work)(long) = (void (*)(long))dlsym(library, "work");
        check(work != 0, "dlsym");
        work(10);
        dlclose(library);
        sched_yield();
        usleep(1);
    }
}

int main(int argc, char **argv) {
    static const struct scenario all[] = {
        {"many", many},
        {"million", million},
        {"bursts", bursts},
        {"nested", nested},
        {"crowded", crowded},
        {"known", known},
        {"calls", calls},
        {"brief", brief},
        {"threads", threads},
        {"preempted", preempted},
        {"migrated", migrated},
        {"woken", woken},
        {"handed-on", handed_on},
        {"foreign", foreign},
        {"forked", forked},
        {"brood", brood},
        {"fork-at-once", fork_at_once},
        {"vforked", vforked},
        {"raw", raw},
        {"storm", storm},
        {"every-instruction", every_instruction},
        {"jumping", jumping},
        {"until-killed", until_killed},
        {"size-limit", size_limit},
        {"on-small-stack", on_small_stack},
        {"unloaded", unloaded},
        {0, 0},
    };
    return choose(all, argc, argv);
}
