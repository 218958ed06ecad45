/* Scenarios that append words, with signals, forks, and failures in between. */
#define KIND 3
#include "woven.h"
#include <setjmp.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/resource.h>
#include <sys/time.h>

/* SERIES is the distance between the first words of two series. */
enum { MANY = 2500000, SERIES = 1 << 24 };

static void await(pid_t child) {
    int status;
    check(waitpid(child, &status, 0) == child, "waitpid");
    check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "exit of the child");
}

/* Appends the words first + 1, first + 2, … */
static void series(uint32_t first, long times) {
    for (long i = 1; i <= times; i++)
        append(first + i);
}

static void *many(void *number) {
    series((intptr_t)number * SERIES, MANY);
    return 0;
}

static void start(int threads, void *(*body)(void *)) {
    pthread_t ids[64];
    for (intptr_t i = 0; i < threads; i++)
        check(!pthread_create(&ids[i], 0, body, (void *)i), "pthread_create");
    for (int i = 0; i < threads; i++)
        pthread_join(ids[i], 0);
}

static void few(void) { series(0, 1000); }
static void one(void) { series(0, MANY); }
static void threads(void) { start(4, many); }

/* Appends the same seven words repeatedly, as loops do. */
static void loops(void) {
    for (long i = 0; i < 4 * MANY; i++)
        append(1 + i % 7);
}

/* Runs one thread at a time. */
static void *some(void *number) {
    series((intptr_t)number * SERIES, 1000);
    return 0;
}
static void in_turn(void) {
    for (intptr_t i = 0; i < 100; i++) {
        pthread_t id;
        pthread_create(&id, 0, some, (void *)i);
        pthread_join(id, 0);
    }
}

/* Each thread leaves a hole: it reserves a cell and ends without writing a word. */
static void *leaves_hole(void *number) {
    append((intptr_t)number + 1);
    __asm__ volatile("addq $4, (%0)" : : "r"(block()) : "memory", "cc");
    return 0;
}
static void holes(void) {
    for (intptr_t i = 0; i < 10; i++) {
        pthread_t id;
        pthread_create(&id, 0, leaves_hole, (void *)i);
        pthread_join(id, 0);
    }
    series(SERIES, MANY);
}

/* A register holds the ring's address during the fork. The child continues at the next chunk. */
static void forked(void) {
    series(0, MANY);
    pid_t child = fork();
    if (!child) {
        series(SERIES, MANY);
        _exit(0);
    }
    series(MANY, MANY);
    await(child);
}

static void vforked(void) {
    series(0, 10);
    pid_t child = vfork();
    if (!child) {
        append(SERIES + 1);
        _exit(0);
    }
    await(child);
    series(10, 10);
}

/* Signals arrive without pause. Their handlers append words, and some handlers append many. If
   handlers leave no time to main, the signals stop after ENOUGH words. */
enum { ENOUGH = 200000 };
static volatile long in_handler;
static volatile int done;
static void handler(int signal) {
    sigset_t all, old;
    sigfillset(&all);
    long words = signal == SIGALRM && in_handler % 50 == 0 ? 1000 : 2;
    for (long i = 0; i < words; i++) {
        /* Handlers nest. No other handler may run between the new number and its word. */
        sigprocmask(SIG_BLOCK, &all, &old);
        append(SERIES + ++in_handler);
        sigprocmask(SIG_SETMASK, &old, 0);
    }
    if (in_handler > ENOUGH && !done) {
        struct itimerval never = {0};
        setitimer(ITIMER_REAL, &never, 0);
        done = 1;
    }
}
static void install(int number, void (*function)(int)) {
    struct sigaction action = {.sa_handler = function, .sa_flags = SA_RESTART};
    sigaction(number, &action, 0);
}
static void *sends(void *to) {
    while (!done) {
        pthread_kill(*(pthread_t *)to, SIGUSR1);
        usleep(1);
    }
    return 0;
}
static void storm_until(long most) {
    struct itimerval often = {{0, 500}, {0, 500}};
    pthread_t main_thread = pthread_self(), sender;
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old); /* the sending thread inherits this mask */
    pthread_create(&sender, 0, sends, &main_thread);
    pthread_sigmask(SIG_SETMASK, &old, 0);
    setitimer(ITIMER_REAL, &often, 0);
    series(0, most);
    done = 1;
    pthread_join(sender, 0);
    sigprocmask(SIG_BLOCK, &all, 0);
    printf("%ld %ld\n", most, in_handler);
}
static void storm(void) {
    install(SIGALRM, handler);
    install(SIGUSR1, handler);
    storm_until(3 * MANY);
}

/* A trap occurs after each instruction. Its handler appends two words. */
static void trap(int signal) {
    (void)signal;
    append(SERIES + ++in_handler);
    append(SERIES + ++in_handler);
}
static void every_instruction(void) {
    install(SIGTRAP, trap);
    append(1);
    __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" : : : "memory", "cc");
    series(1, 500);
    __asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" : : : "memory", "cc");
    printf("501 %ld\n", in_handler);
}

/* Simulates nested handlers at the worst time: after the code reserved the first cell of a chunk,
   and before it calls the runtime, a handler appends more than a chunk, and so on. The word of each
   cell is 1 + the cell's position / 4. */
static void append_nested(long words, int depth) {
    uint64_t *ring = (uint64_t *)block();
    while (words--) {
        uint64_t position = 4;
        __asm__ volatile("xaddq %0, (%1)" : "+&r"(position) : "r"(ring) : "memory", "cc");
        int begins_chunk = position % 65536 == 0;
        if (begins_chunk && depth)
            append_nested(20000, depth - 1);
        *(volatile uint32_t *)((char *)ring + 4032 + position % RING_SIZE) = 1 + position / 4;
        if (begins_chunk)
            __asm__ volatile("call __holloway_chunk" : : : "memory", "cc");
    }
}
static void boundaries(void) {
    for (int depth = 0; depth <= 4; depth++)
        append_nested(300000, depth);
}

/* A handler fills the ring on a small stack. The program prints the stack size that the runtime
   uses. */
static void fills(int signal) {
    (void)signal;
    series(0, MANY);
}
static void touches(int signal) {
    (void)signal;
    series(SERIES, 1);
}
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
    block();
    long plain = used_by(touches);
    printf("%ld\n", used_by(fills) - plain);
}

/* Threads append while other threads fork. Each child also starts a thread. */
static volatile int stop;
static void *busy(void *number) {
    for (long i = 1; !stop; i++)
        append((intptr_t)number * SERIES + 1 + i % 1000);
    return 0;
}
static void *forking(void *number) {
    for (int i = 0; i < 10; i++) {
        series((intptr_t)number * SERIES, 30000);
        pid_t child = fork();
        if (!child) {
            series(20 * SERIES, 30000);
            start(1, many);
            _exit(0);
        }
        await(child);
    }
    return 0;
}
static void family(void) {
    pthread_t ids[4];
    for (intptr_t i = 0; i < 4; i++)
        pthread_create(&ids[i], 0, i < 2 ? busy : forking, (void *)(10 + i));
    pthread_join(ids[2], 0);
    pthread_join(ids[3], 0);
    stop = 1;
    pthread_join(ids[0], 0);
    pthread_join(ids[1], 0);
}

/* No fork handlers run. The child starts a new profile at its first slow path. */
static void raw(void) {
    series(0, 100);
    pid_t child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (!child) {
        caught(0, 1);
        series(SERIES, MANY);
        syscall(SYS_exit_group, 0);
    }
    await(child);
    series(100, MANY);
}

/* A slow path does not change the signal mask of the program. */
static void masks(void) {
    sigset_t some, now;
    sigemptyset(&some);
    sigaddset(&some, SIGUSR2);
    sigprocmask(SIG_SETMASK, &some, 0);
    series(0, MANY);
    caught(0, 1);
    sigprocmask(SIG_SETMASK, 0, &now);
    for (int number = 1; number < 32; number++)
        check(sigismember(&now, number) == (number == SIGUSR2), "mask");
}

/* Signals arrive while the program waits for the collector. */
static volatile long ticks;
static void tick(int signal) {
    (void)signal;
    ticks++;
}
static void waits(void) {
    static struct itimerval often = {{0, 1000}, {0, 1000}}, never;
    install(SIGALRM, tick);
    setitimer(ITIMER_REAL, &often, 0);
    long most = 0;
    for (long i = 1; i <= MANY; i++) {
        long before = ticks;
        append(i);
        most = ticks - before > most ? ticks - before : most;
    }
    setitimer(ITIMER_REAL, &never, 0);
    printf("%ld\n", most);
}

/* Handlers jump out of any interrupted code, and leave holes. Main continues after its last
   finished word. */
static sigjmp_buf back;
static volatile long finished;
static void jumps(int signal) {
    (void)signal;
    siglongjmp(back, 1);
}
static void jumped(void) {
    static struct itimerval often = {{0, 100}, {0, 100}}, never;
    install(SIGALRM, jumps);
    block();
    sigsetjmp(back, 1);
    setitimer(ITIMER_REAL, &often, 0);
    while (finished < 3 * MANY) {
        append(finished + 1);
        finished++;
    }
    setitimer(ITIMER_REAL, &never, 0);
}

static void come_back(void) {
    uint64_t position = cursor();
    series(0, 100);
    caught(position, 77);
    series(100, MANY);
    caught(cursor(), 78); /* the following records begin at all positions of a chunk */
    for (int i = 0; i < 30000; i++)
        caught((uint64_t)i << 33, 1 + i);
}

/* Counts the finished words in a file that the test reads after the kill. */
static void until_killed(void) {
    volatile long *finished = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, 0, 0);
    check(finished != MAP_FAILED, "mmap of stdin");
    for (long i = 0;; i++) {
        append(1 + i);
        *finished = i + 1;
    }
}

/* There is too little space for the spools. */
static void size_limit(void) {
    struct rlimit few = {RING_SIZE + (2 << 20), RLIM_INFINITY};
    check(!setrlimit(RLIMIT_FSIZE, &few), "setrlimit");
    series(0, 3 * MANY);
}
static void full_disk(void) {
    namespace();
    check(!mkdir("data", 0700) && !mkdir("copy", 0700), "mkdir");
    check(!mount("none", "data", "tmpfs", 0, "size=7m"), "mount");
    start(2, many);
    check(!system("cp data/* copy"), "cp");
}
static void tiny_disk(void) {
    namespace();
    check(!mkdir("data", 0700) && !mkdir("copy", 0700), "mkdir");
    check(!mount("none", "data", "tmpfs", 0, "size=128k"), "mount");
    start(2, many);
    check(!system("cp data/* copy"), "cp");
}

int main(int argc, char **argv) {
    static const struct scenario all[] = {
        {"few", few},
        {"one", one},
        {"threads", threads},
        {"loops", loops},
        {"in-turn", in_turn},
        {"holes", holes},
        {"forked", forked},
        {"vforked", vforked},
        {"storm", storm},
        {"every-instruction", every_instruction},
        {"boundaries", boundaries},
        {"on-small-stack", on_small_stack},
        {"family", family},
        {"raw", raw},
        {"masks", masks},
        {"waits", waits},
        {"jumped", jumped},
        {"come-back", come_back},
        {"until-killed", until_killed},
        {"size-limit", size_limit},
        {"full-disk", full_disk},
        {"tiny-disk", tiny_disk},
        {0, 0},
    };
    return choose(all, argc, argv);
}
