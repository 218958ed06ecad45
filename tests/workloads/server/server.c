/* A server with two threads, to be watched for long. A client sends keys of eight bytes. The server
 * answers each with eight bytes: the number of requests with this key before, mixed with the sum of
 * a sorted table. Each thread serves one connection at a time. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { THREADS = 2, SLOTS = 1 << 14, SORTED = 192 };

static struct { uint64_t key, count; } slots[SLOTS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static __attribute__((noinline)) uint64_t mix(uint64_t key, unsigned rounds) {
    for (unsigned i = 0; i < rounds; i++) {
        key ^= key >> 31;
        key *= 0x9e3779b97f4a7c15;
    }
    return key;
}

static __attribute__((noinline)) uint64_t count(uint64_t key) {
    pthread_mutex_lock(&lock);
    uint64_t at = mix(key, 2) % SLOTS;
    while (slots[at].count && slots[at].key != key)
        at = (at + 1) % SLOTS;
    slots[at].key = key;
    uint64_t seen = slots[at].count++;
    pthread_mutex_unlock(&lock);
    return seen;
}

static __attribute__((noinline)) uint64_t sorted_sum(uint64_t key) {
    uint32_t values[SORTED];
    for (unsigned i = 0; i < SORTED; i++)
        values[i] = (uint32_t)mix(key + i, 1);
    for (unsigned i = 1; i < SORTED; i++)
        for (unsigned j = i; j > 0 && values[j - 1] > values[j]; j--) {
            uint32_t swapped = values[j];
            values[j] = values[j - 1];
            values[j - 1] = swapped;
        }
    uint64_t sum = 0;
    for (unsigned i = 0; i < SORTED; i++)
        sum = sum * 31 + values[i];
    return sum;
}

static __attribute__((noinline)) uint64_t answer(uint64_t key) {
    uint64_t seen = count(key % (SLOTS / 2));
    return mix(key, 400) ^ sorted_sum(key) ^ seen;
}

static void *serve(void *listener) {
    for (;;) {
        int client = accept(*(int *)listener, 0, 0);
        if (client < 0)
            return 0;
        uint64_t key;
        while (recv(client, &key, sizeof key, MSG_WAITALL) == sizeof key) {
            key = answer(key);
            if (send(client, &key, sizeof key, MSG_NOSIGNAL) != sizeof key)
                break;
        }
        close(client);
    }
}

int main(int count, char **words) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (count != 2 || strlen(words[1]) >= sizeof address.sun_path)
        return 2;
    strcpy(address.sun_path, words[1]);
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 16))
        return 1;
    printf("ready\n");
    fflush(stdout);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], 0, serve, &listener))
            return 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], 0);
    return 0;
}
