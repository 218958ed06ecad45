// A bytecode interpreter: a loop of one switch with many paths, none of them hot alone.
#include <stdio.h>
#include <stdlib.h>
enum { PUSH, ADD, SUB, DUP, SWAP, JNZ, DROP, HALT };
__attribute__((noinline)) static long run(const unsigned char *code, long n) {
    long stack[64], *top = stack;
    const unsigned char *pc = code;
    *top = n;
    for (;;) {
        switch (*pc++) {
            case PUSH: *++top = *pc++; break;
            case ADD: top--; top[0] += top[1]; break;
            case SUB: top--; top[0] -= top[1]; break;
            case DUP: top[1] = top[0]; top++; break;
            case SWAP: { long x = top[0]; top[0] = top[-1]; top[-1] = x; break; }
            case JNZ: if (*top) pc = code + *pc; else pc++; break;
            case DROP: top--; break;
            default: return *top;
        }
    }
}
int main(int argc, char **argv) {
    long size = argc > 1 ? atol(argv[1]) : 1;
    // Sums: (sum, n) -> (sum + n, n - 1) until n is 0.
    static const unsigned char code[] = { PUSH, 0, SWAP, DUP, PUSH, 3, ADD, DROP, SWAP, PUSH, 2, ADD, SWAP, PUSH, 1, SUB, JNZ, 3, DROP, HALT };
    printf("%ld\n", run(code, 4000000 * size));
}
