/* Scenarios with all kinds of forks. A child counts in a separate profile, or for its parent if it
   shares the parent's memory. */
#include "woven.h"
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <sys/syscall.h>

extern char **environ;

static void await(pid_t child) {
    int status;
    check(waitpid(child, &status, 0) == child, "waitpid");
    check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "exit of the child");
}

/* A register holds the block's address during the fork. */
static void simple(void) {
    char *base = block();
    for (int i = 0; i < 10; i++)
        ++*(volatile long *)(base + 8);
    hash(2, 1);
    pid_t child = fork();
    if (!child) {
        for (int i = 0; i < 7; i++)
            ++*(volatile long *)(base + 8);
        hash(2, 1);
        hash(2, 2);
        _exit(0);
    }
    for (int i = 0; i < 100; i++)
        ++*(volatile long *)(base + 8);
    hash(2, 1);
    await(child);
}

static void nested(void) {
    counts(1, 1);
    pid_t child = fork();
    if (!child) {
        counts(1, 10);
        hash(2, 5);
        pid_t grandchild = fork();
        if (!grandchild) {
            counts(1, 100);
            hash(2, 5);
            exit(0);
        }
        await(grandchild);
        counts(1, 10);
        exit(0);
    }
    await(child);
    counts(1, 1);
}

static volatile int stop;
static void *busy(void *unused) {
    while (!stop) {
        count(3);
        hash(4, rand() % 10000);
    }
    return unused;
}
static void *fleeting(void *unused) {
    count(5);
    return unused;
}

/* Threads enter and count while other threads fork. Each child also starts a thread. */
static void *forking(void *unused) {
    for (int i = 0; i < 20; i++) {
        counts(1, 3);
        pid_t child = fork();
        if (!child) {
            counts(2, 7);
            pthread_t id;
            pthread_create(&id, 0, fleeting, 0);
            pthread_join(id, 0);
            _exit(0);
        }
        await(child);
        pthread_t id;
        pthread_create(&id, 0, fleeting, 0);
        pthread_join(id, 0);
    }
    return unused;
}
static void threaded(void) {
    pthread_t workers[3], forkers[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&workers[i], 0, busy, 0);
    for (int i = 0; i < 3; i++)
        pthread_create(&forkers[i], 0, forking, 0);
    for (int i = 0; i < 3; i++)
        pthread_join(forkers[i], 0);
    stop = 1;
    for (int i = 0; i < 3; i++)
        pthread_join(workers[i], 0);
}

/* The thread that forks has not entered woven code, but another thread has. */
static void fresh_thread(void) {
    pthread_t id;
    pthread_create(&id, 0, fleeting, 0);
    pthread_join(id, 0);
    pid_t child = fork();
    if (!child) {
        counts(1, 7);
        _exit(0);
    }
    await(child);
    counts(1, 100);
}

/* No thread has entered woven code. */
static void untouched(void) {
    pid_t child = fork();
    if (!child) {
        counts(1, 7);
        _exit(0);
    }
    await(child);
    counts(1, 100);
}

/* The fork handlers of the program count. */
static void before(void) { count(1); }
static void after_parent(void) { count(2); }
static void after_child(void) { count(3); }
static void handlers(void) {
    pthread_atfork(before, after_parent, after_child);
    pid_t child = fork();
    if (!child)
        _exit(0);
    await(child);
}

/* Parent and child have the same signal mask as before the fork. */
static void masks(void) {
    sigset_t some, now;
    sigemptyset(&some);
    sigaddset(&some, SIGUSR2);
    sigprocmask(SIG_SETMASK, &some, 0);
    counts(1, 1);
    pid_t child = fork();
    sigprocmask(SIG_SETMASK, 0, &now);
    for (int number = 1; number < 32; number++)
        check(sigismember(&now, number) == (number == SIGUSR2), "mask");
    if (!child)
        _exit(0);
    await(child);
}

static void fork_in_handler(int signal) {
    (void)signal;
    count(1);
    pid_t child = fork();
    if (!child) {
        counts(2, 7);
        _exit(0);
    }
    await(child);
    counts(2, 100);
}
static void in_signal_handler(void) {
    signal(SIGUSR1, fork_in_handler);
    counts(3, 5);
    raise(SIGUSR1);
    counts(3, 5);
}

/* The child shares the parent's memory until it calls exec. */
static void vforked(void) {
    counts(1, 1);
    pid_t child = vfork();
    if (!child) {
        count(2);
        execl("/bin/true", "true", (char *)0);
        _exit(1);
    }
    await(child);
    counts(1, 1);
}

/* The child of a vfork enters woven code first. Then its parent and new threads enter. */
static void vfork_enters(void) {
    pid_t child = vfork();
    if (!child) {
        count(1);
        _exit(0);
    }
    await(child);
    pthread_t ids[20];
    for (int i = 0; i < 20; i++)
        pthread_create(&ids[i], 0, fleeting, 0);
    counts(1, 100000);
    for (int i = 0; i < 20; i++)
        pthread_join(ids[i], 0);
    counts(1, 100000);
}

static void spawned(void) {
    counts(1, 1);
    char *arguments[] = {"true", 0};
    pid_t child;
    check(!posix_spawn(&child, "/bin/true", 0, 0, arguments, environ), "posix_spawn");
    await(child);
    check(!system("exit 0"), "system");
    counts(1, 1);
}

static void executed(void) {
    counts(1, 5);
    execl("/proc/self/exe", "forks", "again", (char *)0);
}
static void again(void) { counts(2, 6); }

/* No fork handlers run. The child starts a new profile at its first slow path. */
static void raw(void) {
    counts(1, 5);
    hash(2, 1);
    pid_t child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (!child) {
        hash(2, 2);
        counts(1, 7);
        hash(2, 1);
        syscall(SYS_exit_group, 0);
    }
    await(child);
    counts(1, 100);
    hash(2, 1);
}

static int mappings(void) {
    FILE *maps = fopen("/proc/self/maps", "r");
    int lines = 0;
    for (int c; (c = fgetc(maps)) != EOF;)
        lines += c == '\n';
    fclose(maps);
    return lines;
}

/* A hundred generations of children. The numbers of mappings and descriptors must not grow. */
static void generations(void) {
    int first = 0;
    for (int generation = 0; generation < 100; generation++) {
        counts(1, 1);
        for (int path = 0; path < 300; path++)
            hash(2, path);
        if (generation == 3)
            first = mappings();
        pid_t child = fork();
        if (child) {
            await(child);
            _exit(0);
        }
    }
    check(mappings() <= first + 3, "mappings");
    int descriptor = dup(0);
    check(descriptor < 10, "descriptors");
    check(fcntl(1000, F_GETFD) >= 0 || fcntl(1001, F_GETFD) >= 0, "descriptors in use");
    for (int number = 1005; number < 1200; number++)
        check(fcntl(number, F_GETFD) < 0, "descriptors");
}

int main(int argc, char **argv) {
    static const struct scenario all[] = {
        {"simple", simple},
        {"nested", nested},
        {"threaded", threaded},
        {"fresh-thread", fresh_thread},
        {"untouched", untouched},
        {"handlers", handlers},
        {"masks", masks},
        {"in-signal-handler", in_signal_handler},
        {"vforked", vforked},
        {"vfork-enters", vfork_enters},
        {"spawned", spawned},
        {"executed", executed},
        {"again", again},
        {"raw", raw},
        {"generations", generations},
        {0, 0},
    };
    return choose(all, argc, argv);
}
