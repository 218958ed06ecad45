/* Scenarios with signal handlers that count. */
#include "woven.h"
#include <sys/time.h>

enum { PATHS = 20000 };
static volatile long in_main, in_handler;

static void handler(int signal) {
    (void)signal;
    long turn = __atomic_fetch_add(&in_handler, 1, __ATOMIC_RELAXED); /* handlers nest */
    count(1);
    hash(2, turn * 7 % PATHS);
    hash(3, turn);
}

static void install(int number, int flags) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigaction(number, &action, 0);
}

static void report(void) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, 0);
    printf("%ld %ld\n", in_main, in_handler);
}

/* Signals arrive without pause, from a timer and from another thread. Main and the handlers use the
   same counters, and both create new segments. */
static volatile int done;
static void *sends(void *to) {
    while (!done)
        pthread_kill(*(pthread_t *)to, SIGUSR1);
    return 0;
}
static void storm(void) {
    install(SIGALRM, SA_RESTART);
    install(SIGUSR1, SA_RESTART);
    struct itimerval often = {{0, 50}, {0, 50}};
    setitimer(ITIMER_REAL, &often, 0);
    pthread_t main_thread = pthread_self(), sender;
    pthread_create(&sender, 0, sends, &main_thread);
    while (in_handler < 30000) {
        count(1);
        hash(2, in_main * 7 % PATHS);
        in_main++;
    }
    done = 1;
    pthread_join(sender, 0);
    report();
}

/* A trap occurs after each instruction of main. Its handler counts the same path as main, and
   creates a new segment while main searches the old one. (Main takes no slow path: a trap with
   signals masked would end the process.) */
static void trap(int signal) {
    (void)signal;
    in_handler++;
    count(1);
    hash(2, 1000 + in_handler);
    hash(2, 5);
}
static void every_instruction(void) {
    struct sigaction action = {.sa_handler = trap};
    sigaction(SIGTRAP, &action, 0);
    count(1);
    hash(2, 5);
    __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" : : : "memory", "cc");
    while (in_main < 500) {
        count(1);
        hash(2, 5);
        in_main++;
    }
    __asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" : : : "memory", "cc");
    report();
}

/* A trap occurs after each instruction while main claims new slots. Its handler counts the same
   path, and claims more slots. */
enum { NEW = 40 };
static volatile long current, traps[NEW + 1];
static void trap_at_new(int signal) {
    (void)signal;
    traps[current]++;
    hash(4, current);
    hash(4, 1000 + in_handler++ % NEW);
}
static void every_instruction_of_new(void) {
    struct sigaction action = {.sa_handler = trap_at_new};
    sigaction(SIGTRAP, &action, 0);
    hash(4, 0);
    __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" : : : "memory", "cc");
    while (current < NEW) {
        current++;
        hash(4, current);
    }
    __asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" : : : "memory", "cc");
    for (int path = 0; path <= NEW; path++)
        printf("%ld ", traps[path]);
    printf("%ld\n", in_handler);
}

/* Threads enter for the first time while signals arrive without pause. */
static void *enters(void *unused) {
    for (int i = 0; i < 20; i++) {
        count(1);
        hash(2, i);
        __atomic_add_fetch(&in_main, 1, __ATOMIC_RELAXED);
    }
    return unused;
}
static void on_enter(int signal) {
    (void)signal;
    count(1);
    hash(2, 5);
    __atomic_add_fetch(&in_handler, 1, __ATOMIC_RELAXED);
}
static void storm_of_threads(void) {
    struct sigaction action = {.sa_handler = on_enter, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &action, 0);
    for (int round = 0; round < 300; round++) {
        pthread_t ids[10];
        for (int i = 0; i < 10; i++)
            pthread_create(&ids[i], 0, enters, 0);
        for (int i = 0; i < 10; i++)
            for (int times = 0; times < 5; times++)
                pthread_kill(ids[i], SIGUSR1);
        for (int i = 0; i < 10; i++)
            pthread_join(ids[i], 0);
    }
    report();
}

/* The first entry of the process is in a handler, on a small stack. The program prints the stack
   size that the runtime uses. */
static void on_small_stack(void) {
    enum { SIZE = 16384 };
    static char stack[SIZE] __attribute__((aligned(64)));
    memset(stack, 0x5a, SIZE);
    stack_t alternate = {.ss_sp = stack, .ss_size = SIZE};
    sigaltstack(&alternate, 0);
    install(SIGUSR2, SA_ONSTACK);
    raise(SIGUSR2);
    long untouched = 0;
    while (stack[untouched] == 0x5a)
        untouched++;
    printf("%ld\n", SIZE - untouched);
}
static void nothing(int signal) { (void)signal; }
static void empty_handler(void) {
    enum { SIZE = 16384 };
    static char stack[SIZE] __attribute__((aligned(64)));
    memset(stack, 0x5a, SIZE);
    stack_t alternate = {.ss_sp = stack, .ss_size = SIZE};
    sigaltstack(&alternate, 0);
    struct sigaction action = {.sa_handler = nothing, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR2, &action, 0);
    raise(SIGUSR2);
    long untouched = 0;
    while (stack[untouched] == 0x5a)
        untouched++;
    printf("%ld\n", SIZE - untouched);
}

/* Counts the finished paths in a file that the test reads after the kill. The program counts each
   path before `finished` grows. */
static void until_killed(void) {
    volatile long *finished = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, 0, 0);
    check(finished != MAP_FAILED, "mmap of stdin");
    for (long i = 0;; i++) {
        count(1);
        hash(2, i);
        *finished = i + 1;
    }
}

int main(int argc, char **argv) {
    static const struct scenario all[] = {
        {"storm", storm},
        {"every-instruction", every_instruction},
        {"every-instruction-of-new", every_instruction_of_new},
        {"storm-of-threads", storm_of_threads},
        {"on-small-stack", on_small_stack},
        {"empty-handler", empty_handler},
        {"until-killed", until_killed},
        {0, 0},
    };
    return choose(all, argc, argv);
}
