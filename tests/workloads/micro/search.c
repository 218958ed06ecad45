// Binary search and a linked list: loops that wait for memory, left in the middle.
#include <stdio.h>
#include <stdlib.h>
struct node { struct node *next; unsigned key; };
static unsigned keys[1 << 16];
static struct node nodes[1 << 12], *heads[1 << 9];
__attribute__((noinline)) static int find(unsigned key) {
    int low = 0, high = 1 << 16;
    while (low < high) {
        int middle = (low + high) / 2;
        if (keys[middle] == key) return middle;
        if (keys[middle] < key) low = middle + 1; else high = middle;
    }
    return -1;
}
__attribute__((noinline)) static struct node *chain(unsigned key) {
    for (struct node *node = heads[key & 511]; node; node = node->next)
        if (node->key == key) return node;
    return 0;
}
int main(int argc, char **argv) {
    long size = argc > 1 ? atol(argv[1]) : 1;
    unsigned seed = 3, sum = 0;
    for (int i = 0; i < 1 << 16; i++) keys[i] = i * 3;
    for (int i = 0; i < 1 << 12; i++) {
        struct node **head = &heads[i * 5 & 511];
        nodes[i].key = i * 5;
        nodes[i].next = *head;
        *head = &nodes[i];
    }
    for (long i = 0; i < 2500000 * size; i++) {
        seed = seed * 1664525u + 1013904223u;
        sum += find(seed >> 14);
        sum += chain(seed >> 17) != 0;
    }
    printf("%u\n", sum);
}
