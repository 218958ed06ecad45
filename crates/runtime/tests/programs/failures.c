/* Scenarios in which system calls of the runtime fail. The program must continue. */
#include "woven.h"
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static void *work(void *unused) {
    counts(1, 10);
    for (int path = 0; path < 1000; path++)
        hash(2, path);
    return unused;
}

static pthread_barrier_t barrier;
static void *work_together(void *unused) {
    count(4);
    pthread_barrier_wait(&barrier); /* all threads live now, so each has a separate block */
    return work(unused);
}

static void threads(int number) {
    pthread_t ids[100];
    pthread_barrier_init(&barrier, 0, number);
    for (int i = 0; i < number; i++)
        check(!pthread_create(&ids[i], 0, work_together, 0), "pthread_create");
    for (int i = 0; i < number; i++)
        pthread_join(ids[i], 0);
}

static void plain(void) { work(0); }

static void some_threads(void) {
    work(0);
    threads(10);
}

/* The program closes every descriptor, and then opens a file with the runtime's descriptors. */
static void closed(void) {
    work(0);
    syscall(SYS_close_range, 3, ~0u, 0);
    int mine = open("mine", O_RDWR | O_CREAT, 0600);
    check(mine >= 0, "open");
    for (int number = 990; number < 1010; number++)
        check(dup2(mine, number) == number, "dup2");
    threads(30);
    pid_t child = fork();
    if (!child) {
        work(0);
        _exit(0);
    }
    waitpid(child, 0, 0);
    check(lseek(mine, 0, SEEK_END) == 0, "size of the program's own file");
    for (int number = 990; number < 1010; number++)
        check(fcntl(number, F_GETFD) >= 0, "the program's own descriptors");
}

/* After a chroot, the path of the profile's directory is invalid. */
static void rooted(void) {
    work(0);
    check(!unshare(CLONE_NEWUSER), "unshare");
    check(!mkdir("jail", 0700) && !chroot("jail") && !chdir("/"), "chroot");
    threads(30);
    pid_t child = fork();
    if (!child) {
        work(0);
        _exit(0);
    }
    waitpid(child, 0, 0);
}

/* The program replaces standard error by a file before the first failure. */
static void redirected(void) {
    int mine = open("mine", O_RDWR | O_CREAT, 0600);
    count(3);
    dup2(mine, 2);
    struct rlimit none = {8192, RLIM_INFINITY};
    check(!setrlimit(RLIMIT_FSIZE, &none), "setrlimit");
    threads(10);
}

/* The kernel sends SIGXFSZ for a file beyond the limit. The runtime must not cause this signal. */
static void size_limit(void) {
    struct rlimit few = {40960, RLIM_INFINITY};
    check(!setrlimit(RLIMIT_FSIZE, &few), "setrlimit");
    work(0);
    threads(10);
}

static void no_room_at_all(void) {
    struct rlimit none = {1000, RLIM_INFINITY};
    check(!setrlimit(RLIMIT_FSIZE, &none), "setrlimit");
    some_threads();
}

/* The disk has 128 KiB. The scenario copies its files before it disappears with the namespace. */
static void full_disk(void) {
    namespace();
    check(!mkdir("data", 0700) && !mkdir("copy", 0700), "mkdir");
    check(!mount("none", "data", "tmpfs", 0, "size=128k"), "mount");
    some_threads();
    pid_t child = fork();
    if (!child) {
        work(0);
        _exit(0);
    }
    waitpid(child, 0, 0);
    check(!system("cp data/* copy"), "cp");
}

static void read_only(void) {
    namespace();
    check(!mkdir("data", 0700), "mkdir");
    check(!mount("none", "data", "tmpfs", MS_RDONLY, ""), "mount");
    some_threads();
}

/* Without /proc, the runtime cannot read the environment, and uses the default directory. */
static void no_proc(void) {
    namespace();
    check(!mount("none", "/proc", "tmpfs", 0, ""), "mount");
    some_threads();
}

static void forbid(const int *calls, int number) {
    struct sock_filter filter[64] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    int length = 1;
    for (int i = 0; i < number; i++) {
        filter[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i], 0, 1);
        filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    }
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {length, filter};
    check(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no new privileges");
    check(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), "seccomp");
}

/* The sandbox forbids all system calls on files. */
static void sandboxed(void) {
    static const int calls[] = {
        SYS_openat, SYS_mkdirat, SYS_mkdir, SYS_fallocate, SYS_ftruncate, SYS_memfd_create,
        SYS_tgkill, SYS_madvise,
        SYS_prlimit64, SYS_fstat, SYS_fcntl, SYS_readlinkat, SYS_getcwd, SYS_gettid, SYS_ppoll,
        SYS_renameat2,
    };
    forbid(calls, sizeof calls / sizeof *calls);
    some_threads();
}

/* The sandbox begins after the first entry: the file exists, but system calls on it fail. */
static void sandboxed_later(void) {
    work(0);
    static const int calls[] = {SYS_openat, SYS_fallocate, SYS_pwrite64, SYS_tgkill, SYS_prlimit64};
    forbid(calls, sizeof calls / sizeof *calls);
    threads(10);
}

/* The file system has no fallocate; renameat2 is missing as well. */
static void old_system(void) {
    static const int calls[] = {SYS_fallocate, SYS_renameat2};
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[0], 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[1], 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    check(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no new privileges");
    check(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), "seccomp");
    some_threads();
}

/* With a low limit on descriptors, the runtime's descriptors are below the limit, but never 0, 1,
   or 2. */
static void few_descriptors(void) {
    struct rlimit few = {40, 40};
    check(!setrlimit(RLIMIT_NOFILE, &few), "setrlimit");
    close(0);
    close(1);
    work(0);
    check(open("/dev/null", O_RDWR) == 0 && open("/dev/null", O_RDWR) == 1, "lowest numbers");
    threads(10);
}

/* The address space runs out while threads start. */
static void little_memory(void) {
    work(0);
    struct rlimit now = {64 << 20, RLIM_INFINITY};
    check(!setrlimit(RLIMIT_AS, &now), "setrlimit");
    char *all = 0;
    for (size_t size = 64 << 20; size >= 4096; size /= 2)
        while ((all = mmap(0, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) != MAP_FAILED)
            ;
    __holloway_slot = 0; /* as in a thread that has not entered */
    syscall(SYS_getpid);
    for (int path = 1000; path < 3000; path++)
        hash(2, path);
    counts(1, 10);
    _exit(0);
}

int main(int argc, char **argv) {
    static const struct scenario all[] = {
        {"plain", plain},
        {"some-threads", some_threads},
        {"closed", closed},
        {"rooted", rooted},
        {"redirected", redirected},
        {"size-limit", size_limit},
        {"no-room-at-all", no_room_at_all},
        {"full-disk", full_disk},
        {"read-only", read_only},
        {"no-proc", no_proc},
        {"sandboxed", sandboxed},
        {"sandboxed-later", sandboxed_later},
        {"old-system", old_system},
        {"few-descriptors", few_descriptors},
        {"little-memory", little_memory},
        {0, 0},
    };
    return choose(all, argc, argv);
}
