/* Scenarios that start threads in different ways, and end them in different orders. */
#include "woven.h"
#include <threads.h>

static void one(void) {
    counts(1, 100);
    for (int i = 0; i < 50; i++)
        hash(2, i % 5);
}

static pthread_barrier_t barrier;

static void *together(void *unused) {
    counts(1, 1000);
    hash(2, 7);
    pthread_barrier_wait(&barrier);
    counts(1, 1000);
    hash(2, 7);
    return unused;
}

static void start(int threads, void *(*body)(void *), pthread_t *ids) {
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 * 1024);
    for (int i = 0; i < threads; i++)
        check(!pthread_create(&ids[i], &small, body, 0), "pthread_create");
}

static void thousand_at_once(void) {
    static pthread_t ids[1000];
    pthread_barrier_init(&barrier, 0, 1000);
    start(1000, together, ids);
    for (int i = 0; i < 1000; i++)
        pthread_join(ids[i], 0);
}

static void *alone(void *unused) {
    counts(1, 10);
    hash(2, 3);
    return unused;
}

static void thousand_in_turn(void) {
    for (int i = 0; i < 1000; i++) {
        pthread_t id;
        start(1, alone, &id);
        pthread_join(id, 0);
    }
}

static void waves(void) {
    static pthread_t ids[50];
    for (int wave = 0; wave < 40; wave++) {
        start(50, alone, ids);
        for (int i = 0; i < 50; i++)
            pthread_join(ids[i], 0);
    }
}

static int c11_body(void *unused) {
    (void)unused;
    counts(1, 10);
    return 0;
}

static void timer_body(union sigval value) {
    counts(2, 10);
    pthread_barrier_wait(value.sival_ptr);
}

static void origins(void) {
    thrd_t id;
    thrd_create(&id, c11_body, 0);
    thrd_join(id, 0);
    pthread_barrier_init(&barrier, 0, 2);
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = timer_body};
    event.sigev_value.sival_ptr = &barrier;
    timer_t timer;
    check(!timer_create(CLOCK_MONOTONIC, &event, &timer), "timer_create");
    struct itimerspec soon = {.it_value.tv_nsec = 1000};
    timer_settime(timer, 0, &soon, 0);
    pthread_barrier_wait(&barrier);
}

/* Counts before main (in .preinit_array, which musl ignores, and in constructors of different
   priorities), after main (in destructors and atexit functions), and in repeated destructors of
   thread-local values. */
static int lifetimes_on;
static void read_scenario(void) {
    char line[4096] = {0};
    int file = open("/proc/self/cmdline", O_RDONLY);
    check(file >= 0 && read(file, line, sizeof line - 1) > 0, "/proc");
    close(file);
    lifetimes_on = !strcmp(line + strlen(line) + 1, "lifetimes");
}
static void preinit(void) {
    read_scenario();
    if (lifetimes_on)
        count(10);
}
#ifndef SHARED
__attribute__((section(".preinit_array"), used)) static void (*preinit_entry)(void) = preinit;
#endif
__attribute__((constructor(101))) static void early(void) {
    read_scenario();
    if (lifetimes_on) count(11);
}
__attribute__((constructor)) static void later(void) { if (lifetimes_on) count(12); }
__attribute__((destructor(101))) static void last(void) {
    if (lifetimes_on) {
        count(13);
        hash(2, 13);
    }
}
static void at_exit(void) { count(14); }
static pthread_key_t key;
static void thread_end(void *round) {
    count(15);
    if (round > (void *)1)
        pthread_setspecific(key, (char *)round - 1);
}
static void *with_key(void *unused) {
    pthread_setspecific(key, (void *)3);
    return unused;
}
static void *outlive(void *unused) {
    count(16);
    count(17);
    pthread_barrier_wait(&barrier);
    for (;;)
        count(17);
    return unused;
}
static void lifetimes(void) {
    atexit(at_exit);
    pthread_key_create(&key, thread_end);
    pthread_t id;
    start(1, with_key, &id);
    pthread_join(id, 0);
    pthread_barrier_init(&barrier, 0, 2);
    start(1, outlive, &id);
    pthread_barrier_wait(&barrier);
}

/* The main thread ends first. */
static void *after_main(void *unused) {
    usleep(50000);
    counts(1, 10);
    exit(0);
    return unused;
}
static void main_first(void) {
    counts(1, 1);
    pthread_t id;
    start(1, after_main, &id);
    pthread_exit(0);
}

int main(int argc, char **argv) {
    static const struct scenario all[] = {
        {"one", one},
        {"thousand-at-once", thousand_at_once},
        {"thousand-in-turn", thousand_in_turn},
        {"waves", waves},
        {"origins", origins},
        {"lifetimes", lifetimes},
        {"main-first", main_first},
        {0, 0},
    };
    return choose(all, argc, argv);
}
