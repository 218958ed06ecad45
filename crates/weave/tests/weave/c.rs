//! Tests C programs with every LLVM, at every level. In the sources, `T` calls a tracer, which
//! counts the executions of each such line. The weaver's counts must be equal.

use crate::support::{check, check_with};
use holloway_weave::OptLevel::{self, O0, O1, O2, O3, Os};

const LEVELS: [OptLevel; 3] = [O0, O1, O2];

#[test]
fn loops() {
    let source = r#"
#include <stdio.h>
int main(int argc, char **argv) {
    unsigned sum = 0;
    for (int i = 0; i < 100 * argc; i++) {
        if (i % 3) { T; sum += i; }
        else if (i % 2) { T; sum ^= i; }
        for (int j = i; j > 50; j--) { T; sum += j & 1; }
        T;
    }
    T;
    printf("%u\n", sum);
}
"#;
    check("loops.c", source, &[O0, O1, O2, O3, Os]);
}

#[test]
fn switches() {
    let source = r#"
static int kind(int c) {
    switch (c) {
        case 'a': case 'e': case 'i': case 'o': case 'u': T; return 1;
        case '0': case '1': case '2': case '3': case '4': case '5': case '6': case '7': case '8': case '9': T; return 2;
        case ' ': T; /* fall through */
        case '\n': T; return 3;
        default: T; break;
    }
    T;
    return c > 'm';
}
static long wide(unsigned long c) {
    switch (c) { case 0x8000000000000000ul: T; return 1; case 77: T; return 2; }
    return 0;
}
int main(int argc, char **argv) {
    int sum = 0;
    for (const char *s = "the quick brown fox 0123 jumps\nover 99 lazy dogs\n"; *s; s++) {
        switch (kind(*s) + argc - 1) { case 1: T; sum++; break; case 3: T; sum += 2; case 2: T; sum++; }
        sum += wide(*s) + wide(0x8000000000000000ul * argc);
    }
    return sum == 0;
}
"#;
    check("switches.c", source, &LEVELS);
}

#[test]
fn recursion() {
    let source = r#"
#include <stdio.h>
static int ack(int m, int n) {
    T;
    if (m == 0) { T; return n + 1; }
    if (n == 0) { T; return ack(m - 1, 1); }
    return ack(m - 1, ack(m, n - 1));
}
__attribute__((noinline)) static int fib(int n) { T; return n < 2 ? n : fib(n - 1) + fib(n - 2); }
int main(int argc, char **argv) { printf("%d %d\n", ack(2, 7 * argc), fib(17)); }
"#;
    check("recursion.c", source, &LEVELS);
}

#[test]
fn setjmp_and_longjmp() {
    let source = r#"
#include <setjmp.h>
#include <stdio.h>
static jmp_buf env;
__attribute__((noinline, noreturn)) static void leave(int n) {
    if (n > 6) { T; longjmp(env, n); }
    T;
    leave(n + 1);
}
int main(int argc, char **argv) {
    volatile int tries = 0;
    int left = 0;
    if (argc > 1) { T; left = 3; }
    switch (setjmp(env)) {
        case 0: T; break;
        case 7: T; left++; break;
        default: T; break;
    }
    T;
    tries++;
    for (volatile int i = 0; i < tries; i++) { T; }
    if (tries < 5) { T; leave(tries); }
    T;
    printf("%d\n", tries);
}
"#;
    check("setjmp.c", source, &LEVELS);
}

#[test]
fn computed_goto() {
    let source = r#"
#include <stdio.h>
static int run(const unsigned char *code, int x) {
    static void *const labels[] = { &&inc, &&dbl, &&jnz, &&halt, &&skip };
    int limit = 40;
    const unsigned char *pc = code;
    goto *labels[*pc];
inc: T; x++; pc++; goto *labels[*pc];
dbl: T; x *= 2; pc++; if (x > 1000) { T; x -= 999; } goto *labels[*pc];
jnz: T; if (--limit) { T; pc = code; } else { pc++; } goto *labels[*pc];
skip: T; pc += 2; goto *labels[*pc];
halt: T; return x;
}
int main(int argc, char **argv) {
    const unsigned char code[] = { 0, 1, 4, 3, 0, 2, 3 };
    printf("%d\n", run(code, argc));
    const unsigned char once[] = { 1, 3 };
    printf("%d\n", run(once, argc));
}
"#;
    check("computed_goto.c", source, &LEVELS);
}

#[test]
fn asm_goto() {
    let source = r#"
#include <stdio.h>
static int positive(int x) {
    __asm__ goto("testl %0, %0\n\tjg %l1\n\tje %l2" : : "r"(x) : "cc" : yes, zero);
    T;
    return -1;
yes:
    T;
    return 1;
zero:
    T;
    return 0;
}
int main(int argc, char **argv) {
    int sum = 0;
    for (int i = -5 * argc; i < 12; i++) { T; sum += positive(i); }
    printf("%d\n", sum);
}
"#;
    check("asm_goto.c", source, &LEVELS);
}

/// Tests a million nested tail calls. They must remain jumps, even if another branch shares their
/// `ret`.
#[test]
fn tail_calls_stay_jumps() {
    let source = r#"
#include <stdio.h>
__attribute__((noinline)) static int odd(unsigned n, int *acc);
__attribute__((noinline)) static int even(unsigned n, int *acc) {
    if (n == 0) { T; return *acc; }
    T;
    *acc += 1;
    __attribute__((musttail)) return odd(n - 1, acc);
}
__attribute__((noinline)) static int odd(unsigned n, int *acc) {
    if (n == 0) return -1;
    T;
    __attribute__((musttail)) return even(n - 1, acc);
}
int main(int argc, char **argv) {
    int acc = 0;
    printf("%d\n", even(1000000 * argc, &acc));
}
"#;
    check("musttail.c", source, &LEVELS);
    let plain = r#"
#include <stdio.h>
__attribute__((noinline)) int odd(unsigned n, int acc);
__attribute__((noinline)) int even(unsigned n, int acc) {
    if (n == 0) { T; return acc; }
    return odd(n - 1, acc + 1);
}
__attribute__((noinline)) int odd(unsigned n, int acc) {
    if (n == 0) { T; return -1; }
    return even(n - 1, acc);
}
__attribute__((noinline)) void down(unsigned n);
__attribute__((noinline)) void step(unsigned n) { if (n) down(n - 1); else { T; } }
__attribute__((noinline)) void down(unsigned n) { if (n) step(n - 1); else { T; } }
int main(int argc, char **argv) { down(5000000 * argc); printf("%d\n", even(5000000 * argc, 0)); }
"#;
    check("tail.c", plain, &[O2, O3]);
}

#[test]
fn small_functions() {
    let source = r#"
__attribute__((noinline)) void empty(void) { }
__attribute__((noinline)) int one_block_loop(volatile int *x) { do { } while (--*x); return 1; }
__attribute__((noinline)) void endless(int n) { while (n) { T; if (--n == 0) __builtin_longjmp(0, 1); } }
static void *env[5];
__attribute__((noinline, noreturn)) void back(void) { T; __builtin_longjmp(env, 1); }
int main(int argc, char **argv) {
    void (*volatile call)(void) = empty;
    for (int i = 0; i < 10 * argc; i++) { T; call(); }
    volatile int n = 1000 * argc;
    if (!one_block_loop(&n)) { T; endless(argc); }
    static volatile int again;
    if (__builtin_setjmp(env)) { T; again++; }
    T;
    if (again < 3) { T; back(); }
    return 0;
}
"#;
    for (setup, level, patched, program_run) in check("small.c", source, &LEVELS) {
        let count = |name: &str| {
            let function = patched
                .map
                .functions
                .iter()
                .find(|function| &*function.linkage_name == name)
                .unwrap();
            program_run
                .dump
                .counts(patched.base, function)
                .values()
                .copied()
                .collect::<Vec<u64>>()
        };
        assert_eq!(count("empty"), [10], "{setup:?} {level}");
        // The loop is one block: one path enters it, 998 paths are iterations, and one leaves it.
        let mut loops = count("one_block_loop");
        loops.sort_unstable();
        assert_eq!(
            loops.iter().sum::<u64>(),
            1000,
            "{setup:?} {level}: {loops:?}"
        );
        assert_eq!(loops.last(), Some(&998), "{setup:?} {level}: {loops:?}");
    }
}

#[test]
fn more_paths_than_any_array() {
    let mut source = String::from(
        "#include <stdio.h>\nunsigned x = 12345;\n__attribute__((noinline)) static unsigned bits(unsigned n) { unsigned r = 0;\n",
    );
    for bit in 0..62 {
        source += &format!(
            "if ((n * {} >> 7) & 1) {{ T; r = r * 3 + {bit}; }} else {{ T; r ^= n; }}\n",
            2 * bit + 1
        );
    }
    source += "return r; }\nint main(int argc, char **argv) { unsigned r = 0;\n";
    source += "for (int i = 0; i < 1000; i++) { T; x = x * 1664525 + 1013904223 * argc; r += bits(x); }\nprintf(\"%u\\n\", r); }\n";
    for (setup, level, patched, program_run) in check("many.c", &source, &[O0, O2]) {
        let hashed = patched.map.functions.iter().any(|function| {
            matches!(function.counters, holloway_format::Counters::Hash { .. })
                && function.path_count > 100_000_000
                && !program_run.dump.counts(patched.base, function).is_empty()
        });
        assert!(hashed || level == O2, "{setup:?} {level}");
    }
}

/// With an array limit of 0, all paths are hashed. With a low path limit, all functions are cut.
#[test]
fn hashed_and_cut_functions_count_the_same() {
    let source = r#"
#include <stdio.h>
int main(int argc, char **argv) {
    unsigned sum = 0, x = argc;
    for (int i = 0; i < 200 * argc; i++) {
        x = x * 1664525 + 1013904223;
        if (x >> 31) { T; sum += i; }
        if (x >> 30 & 1) { T; sum ^= i; } else { T; sum -= i; }
        if (x >> 29 & 1) { T; sum ^= x; }
        switch (x >> 26 & 7) { case 1: T; sum++; break; case 2: case 3: T; sum += 2; break; case 4: T; sum *= 3; default: T; sum -= 4; }
        if (x >> 25 & 1) { T; continue; }
        T;
    }
    printf("%u\n", sum);
}
"#;
    check_with("hashed.c", source, &[O0, O2], &[], &|options| {
        options.array_limit = 0;
    });
    check_with("cut.c", source, &[O0, O2], &[], &|options| {
        options.path_limit = 60;
    });
}

#[test]
fn varargs_and_indirect_calls() {
    let source = r#"
#include <stdarg.h>
#include <stdio.h>
__attribute__((noinline)) static double sum(int n, ...) {
    va_list list;
    va_start(list, n);
    double r = 0;
    for (int i = 0; i < n; i++) {
        if (i & 1) { T; r += va_arg(list, double); } else { T; r += va_arg(list, int); }
    }
    va_end(list);
    return r;
}
static int add(int a, int b) { T; return a + b; }
static int sub(int a, int b) { T; return a - b; }
static int (*volatile table[])(int, int) = { add, sub };
int main(int argc, char **argv) {
    int r = 0;
    for (int i = 0; i < 50; i++) { T; r = table[i * i % 3 == 1](r, i); }
    printf("%f %d\n", sum(9, 1, 2.5, 3, 4.5, 5, 6.5, 7, 8.5, 9 * argc), r);
}
"#;
    check("varargs.c", source, &LEVELS);
}

#[test]
fn irreducible_graphs() {
    let source = r#"
#include <stdio.h>
__attribute__((noinline)) static int twist(int n, int side) {
    int r = 0;
    if (side) goto right;
left:
    T;
    r += 1;
    if (--n <= 0) { T; return r; }
    if (n % 5 == 0) { T; goto left; }
right:
    T;
    r += 100;
    if (--n <= 0) { T; return r; }
    if (n % 3 == 0) { T; goto right; }
    goto left;
}
int main(int argc, char **argv) { printf("%d %d\n", twist(100 * argc, 0), twist(77, argc)); }
"#;
    check("irreducible.c", source, &LEVELS);
}

/// Lines before a call that is known not to return are counted.
#[test]
fn noreturn_exits() {
    let source = r#"
#include <stdlib.h>
__attribute__((noinline, noreturn)) static void quit(int n) { T; exit(n == 3 ? 0 : n); }
__attribute__((noinline)) static int work(int n) {
    if (n == 3) { T; quit(n); }
    T;
    return n;
}
int main(int argc, char **argv) {
    for (int i = argc; i < 3; i++) { T; work(i); }
    T;
    quit(3);
}
"#;
    check("noreturn.c", source, &LEVELS);
}

/// A call without the attribute `noreturn` may still leave a frame for good. Without exit edges,
/// the path of this frame has no end and is not counted.
#[test]
fn paths_of_frames_left_in_the_middle_are_not_counted() {
    let source = r#"
#include <setjmp.h>
void trace(unsigned);
static jmp_buf env;
__attribute__((noinline)) void jump(int n) { if (n) longjmp(env, n); }
__attribute__((noinline)) int passed(int n) {
    if (n > 5) trace(1);
    jump(n & 1);
    trace(2);
    return n * 2;
}
int main(int argc, char **argv) {
    static volatile int i;
    for (i = 0; i < 10; i++) {
        if (setjmp(env) == 0) passed(i);
    }
    return 0;
}
"#;
    for (setup, level, patched, program_run) in check("left.c", source, &LEVELS) {
        let function = |name: &str| {
            let function = patched
                .map
                .functions
                .iter()
                .find(|function| &*function.linkage_name == name)
                .unwrap();
            program_run
                .dump
                .counts(patched.base, function)
                .values()
                .sum::<u64>()
        };
        // `passed` was called 10 times and left 5 times.
        assert_eq!(function("passed"), 5, "{setup:?} {level}");
        assert_eq!(function("jump"), 10, "{setup:?} {level}");
        assert_eq!(
            program_run.dump.lines(),
            [(1, 4), (2, 5)].into(),
            "{setup:?} {level}"
        );
    }
}

#[test]
fn vectorized_code() {
    let source = r#"
#include <stdio.h>
static float a[4096], b[4096];
__attribute__((noinline)) static float dot(int n) { float s = 0; for (int i = 0; i < n; i++) s += a[i] * b[i]; return s; }
__attribute__((noinline)) static void scale(float *restrict p, const float *restrict q, int n) { T; for (int i = 0; i < n; i++) p[i] = q[i] * 2 + 1; }
int main(int argc, char **argv) {
    for (int i = 0; i < 4096; i++) { a[i] = i & 7; b[i] = i & 3; }
    for (int r = 0; r < 100 * argc; r++) { T; scale(a, b, 4000 + r % 7); }
    printf("%f\n", dot(4096));
}
"#;
    check_with(
        "vector.c",
        source,
        &[O3],
        &["-ffast-math", "-mavx2"],
        &|_| {},
    );
}
