// A binary tree filled and searched: short functions that leave early, recursion, memory.
#include <stdio.h>
#include <stdlib.h>
struct node { struct node *side[2]; unsigned key; };
static struct node nodes[1 << 15];
static unsigned used;
__attribute__((noinline)) static struct node *insert(struct node *node, unsigned key) {
    if (!node) {
        node = &nodes[used++];
        node->key = key;
        node->side[0] = node->side[1] = 0;
        return node;
    }
    if (node->key == key) return node;
    int right = key > node->key;
    node->side[right] = insert(node->side[right], key);
    return node;
}
__attribute__((noinline)) static unsigned depth(const struct node *node) {
    if (!node) return 0;
    unsigned left = depth(node->side[0]), right = depth(node->side[1]);
    return 1 + (left > right ? left : right);
}
int main(int argc, char **argv) {
    long size = argc > 1 ? atol(argv[1]) : 1;
    unsigned sum = 0, seed = 1;
    for (long round = 0; round < 30 * size; round++) {
        struct node *root = 0;
        used = 0;
        for (int i = 0; i < 1 << 15; i++) {
            seed = seed * 1664525u + 1013904223u;
            root = insert(root, seed >> 4);
        }
        sum = sum * 31 + depth(root);
    }
    printf("%u\n", sum);
}
