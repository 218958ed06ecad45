/* A program that is not woven. It loads and unloads woven libraries. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <fcntl.h>

static void fail(const char *what) {
    const char *why = dlerror();
    printf("failed: %s: %s\n", what, why ? why : "");
    exit(99);
}

static void *load(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fail("dlopen");
    return library;
}

static void call(void *library, long times) {
    void (*work)(long) = (void (*)(long))dlsym(library, "work");
    if (!work)
        fail("dlsym");
    work(times);
}

static int mappings(void) {
    FILE *maps = fopen("/proc/self/maps", "r");
    int lines = 0;
    for (int c; (c = fgetc(maps)) != EOF;)
        lines += c == '\n';
    fclose(maps);
    return lines;
}

static int descriptors(void) {
    int open = 0;
    for (int number = 0; number < 4096; number++)
        open += fcntl(number, F_GETFD) >= 0;
    return open;
}

static void *in_thread(void *library) {
    call(library, 10);
    return 0;
}

/* Loads and unloads a library 2,000 times. The numbers of mappings and descriptors must not
   grow with the loads. */
static void again_and_again(char **paths) {
    int maps = 0, files = 0;
    for (int i = 0; i < 2000; i++) {
        void *library = load(paths[0]);
        call(library, 10);
        pthread_t id;
        pthread_create(&id, 0, in_thread, library);
        pthread_join(id, 0);
        dlclose(library);
        if (i == 50)
            maps = mappings(), files = descriptors();
    }
    /* The cells of two small rings come in at most eight pieces each. */
    if (mappings() > maps + 18)
        fail("mappings");
    if (descriptors() != files)
        fail("descriptors");
    /* libc no longer calls the fork handlers of the unloaded library. */
    pid_t child = fork();
    if (!child) {
        call(load(paths[0]), 7);
        _exit(0);
    }
    waitpid(child, 0, 0);
}

/* Loads two libraries. One of them is loaded twice at the same time, in a second namespace. */
static void side_by_side(char **paths) {
    void *first = load(paths[0]), *second = load(paths[1]);
    call(first, 10);
    call(second, 20);
#ifdef LM_ID_NEWLM
    void *twin = dlmopen(LM_ID_NEWLM, paths[0], RTLD_NOW);
#else
    void *twin = 0;
#endif
    if (!twin)
        fail("dlmopen");
    call(twin, 300);
    call(first, 10);
    call(twin, 300);
    dlclose(first);
    first = load(paths[0]);
    call(first, 10);
    call(twin, 300);
    call(second, 20);
}

/* A thread calls the library before an unload and after the next load. */
static pthread_barrier_t barrier;
static void *volatile current;
static void *lives_on(void *unused) {
    call(current, 10);
    pthread_barrier_wait(&barrier); /* unload */
    pthread_barrier_wait(&barrier); /* load */
    call(current, 10);
    return unused;
}
static void threads_live_on(char **paths) {
    pthread_barrier_init(&barrier, 0, 2);
    current = load(paths[0]);
    pthread_t id;
    pthread_create(&id, 0, lives_on, 0);
    pthread_barrier_wait(&barrier);
    dlclose(current);
    current = load(paths[0]);
    call(current, 1);
    pthread_barrier_wait(&barrier);
    call(current, 1);
    pthread_join(id, 0);
}

/* Loads the second library more than a second after the first. */
static void two_libraries(char **paths) {
    call(load(paths[0]), 1);
    usleep(1100000);
    call(load(paths[1]), 2);
}

int main(int argc, char **argv) {
    if (argc < 4)
        return 98;
    if (!strcmp(argv[1], "again-and-again"))
        again_and_again(argv + 2);
    else if (!strcmp(argv[1], "side-by-side"))
        side_by_side(argv + 2);
    else if (!strcmp(argv[1], "two-libraries"))
        two_libraries(argv + 2);
    else if (!strcmp(argv[1], "threads-live-on"))
        threads_live_on(argv + 2);
    else
        return 98;
    return 0;
}
