//! Tests the counters that loops keep in registers: the counts are exact for every shape of loop
//! and for every exit of a loop.

use crate::support::{Workspace, check, check_with, library, options, weave};
use holloway_weave::OptLevel::{self, O0, O1, O2, O3};

/// A tracer that is not a call, so that control leaves the loops with tracers only by branches. It
/// counts hits by line. At the program's end, it passes them to `trace`, the tracer of `support`.
const INLINE_TRACER: &str = "#undef T
#define T __asm__ volatile(\"incq %0\" : \"+m\"(hits[__LINE__]) : : \"cc\")
static unsigned long hits[1000];
__attribute__((destructor)) static void tell(void) { for (int line = 0; line < 1000; line++) for (; hits[line]; hits[line]--) trace(line); }
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#define KEEP(x) __asm__ volatile(\"\" : \"+r\"(x))
";

const LEVELS: [OptLevel; 4] = [O0, O1, O2, O3];

/// Checks a program whose lines are counted by [`INLINE_TRACER`].
fn check_with_inline_tracer(name: &str, source: &str) {
    check(name, &format!("{INLINE_TRACER}{source}"), &LEVELS);
}

#[test]
fn loops_of_one_path() {
    check_with_inline_tracer(
        "one.c",
        r#"
__attribute__((noinline)) static int none(int n) { int i = 0; while (i < n) { KEEP(i); i++; } return i; }
__attribute__((noinline)) static int counted(volatile int *p) { int s = 0; for (int i = 0; i < 1000; i++) s += *p; return s; }
__attribute__((noinline)) static int prefix(int n, int side) {
    if (side & 1) { T; KEEP(n); } else { T; n += 2; KEEP(n); }
    if (side & 2) { T; KEEP(n); }
    int s = 0;
    for (int i = 0; i < n; i++) { T; s += i; KEEP(s); }
    if (side & 4) { T; s++; }
    return s;
}
int main(int argc, char **argv) {
    int sum = 0;
    volatile int one = argc;
    for (int n = 0; n < 20; n++) {
        sum += none(n * argc) + counted(&one);
        for (int side = 0; side < 8 * argc; side++) { T; sum += prefix(n / 4, side); }
    }
    printf("%d\n", sum);
}
"#,
    );
}

#[test]
fn loops_of_several_paths() {
    check_with_inline_tracer(
        "several.c",
        r#"
__attribute__((noinline)) static int steps(unsigned long n, int side) {
    if (side & 1) { T; n++; KEEP(n); }
    if (side & 2) { T; n += 2; KEEP(n); }
    int count = 0;
    while (n != 1) {
        if (n & 1) { T; n = 3 * n + 1; KEEP(n); } else { T; n >>= 1; KEEP(n); }
        count++;
    }
    if (side & 4) { T; count++; }
    return count;
}
__attribute__((noinline)) static int once(const unsigned char *p, int n, int side) {
    int s = 0, i = 0;
    if (side & 1) { T; s = 5; KEEP(s); }
    do {
        if (p[i] & 1) { T; s += p[i]; KEEP(s); }
        i++;
    } while (i < n);
    if (side & 2) { T; s++; }
    return s;
}
__attribute__((noinline)) static int kinds(const unsigned char *p, int n, int side) {
    int s = side;
    if (side & 1) { T; s = 5; KEEP(s); } else if (side & 2) { T; s ^= 9; KEEP(s); }
    for (int i = 0; i < n; i++) {
        switch (p[i] & 3) {
            case 0: T; s += 3; KEEP(s); break;
            case 1: T; s ^= 77; KEEP(s); break;
            case 2: T; s -= i; KEEP(s); break;
            default: T; s <<= 1; KEEP(s); break;
        }
        KEEP(s);
    }
    if (side & 4) { T; s++; }
    return s;
}
__attribute__((noinline)) static int between(const unsigned char *p, int n, int side) {
    int s = side, i = 0;
    if (side & 1) { T; s = 5; KEEP(s); }
    for (;;) {
        if (p[i] & 1) { T; s += 3; KEEP(s); } else { T; s ^= 7; KEEP(s); }
        KEEP(s);
        if (s % 61 == 11) { T; s += 100; break; }
        KEEP(i);
        if (++i == n) { T; s += 200; break; }
        if (s % 67 == 5) { T; return s; }
    }
    if (side & 2) { T; s++; KEEP(s); }
    T;
    return s;
}
__attribute__((noinline)) static int twice(const unsigned char *p, int n, int side) {
    int s = side;
    if (side & 1) { T; s = 5; KEEP(s); }
    for (int i = 0; i < n; i++) {
        if (p[i] & 1) { T; s += 3; KEEP(s); }
        KEEP(s);
        if (p[i] & 2) { T; s ^= 5; KEEP(s); }
    }
    if (side & 2) { T; s++; KEEP(s); }
    return s;
}
__attribute__((noinline)) static int back(const unsigned char *p, int n, int side) {
    int s = side, i = 0;
    if (side & 1) { T; s = 5; KEEP(s); }
    while (i < n) {
        i++;
        if (p[i] & 1) { T; s += 3; KEEP(s); continue; }
        if (p[i] & 2) { T; s ^= 3; KEEP(s); continue; }
        if (p[i] == 12) { T; return s; }
        KEEP(s);
    }
    if (side & 2) { T; s++; KEEP(s); }
    return s;
}
int main(int argc, char **argv) {
    unsigned char p[64];
    unsigned x = 7;
    long sum = 0;
    for (int round = 0; round < 60 * argc; round++) {
        for (int i = 0; i < 64; i++) { x = x * 1664525 + 1013904223; p[i] = x >> 27; }
        for (int n = 0; n < 20; n += 1 + round % 3) {
            sum += kinds(p, n, round & 7) + twice(p, n, round & 3) + back(p, n, round & 3);
            sum += between(p, n + 1, round & 3) + once(p, n + 1, round & 3);
            KEEP(sum);
        }
        sum += steps(round + 1, round & 7);
    }
    printf("%ld\n", sum);
}
"#,
    );
}

#[test]
fn loops_with_several_exits() {
    check_with_inline_tracer(
        "exits.c",
        r#"
__attribute__((noinline)) static int find(const int *a, int n, int x, int y) {
    for (int i = 0; i < n; i++) {
        if (a[i] == x) { T; return i; }
        if (a[i] == y) { T; break; }
        if (a[i] < 0) { T; goto out; }
        T;
    }
    T;
    return -1;
out:
    T;
    return -2;
}
__attribute__((noinline)) static int middle(unsigned x) {
    int turns = 0;
    for (;;) {
        x = x * 1664525 + 1013904223;
        turns++;
        if (x >> 29 == 3) { T; break; }
        if (x >> 30 == 2) { T; turns += 2; continue; }
        if (x >> 28 == 1) { T; return turns; }
        KEEP(x);
    }
    T;
    return turns * 2;
}
__attribute__((noinline)) static int ends(const char *s) {
    int kind = 0;
    for (;; s++) {
        switch (*s) {
            case 0: T; return kind;
            case ' ': T; continue;
            case 'x': T; kind++; break;
            case 'y': T; kind += 2; break;
            case 'q': T; goto done;
            default: T; kind ^= 1;
        }
        KEEP(kind);
        if (kind > 40) { T; break; }
    }
    T;
done:
    return kind + 100;
}
int main(int argc, char **argv) {
    int a[100], sum = 0;
    for (int i = 0; i < 100; i++) a[i] = i * 7 % 100 - (i == 90);
    for (int x = -3; x < 120; x += 5) { sum += find(a, 60 + x % 40, x, x * 3 % 100); KEEP(sum); }
    for (unsigned x = 0; x < 200; x++) { sum += middle(x * argc); KEEP(sum); }
    sum += ends("x y zzz") + ends("") + ends("yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyx") + ends("abc q x");
    printf("%d\n", sum);
}
"#,
    );
}

#[test]
fn nested_loops() {
    check_with_inline_tracer(
        "nests.c",
        r#"
__attribute__((noinline)) static long deep(int n) {
    long s = 0;
    for (int a = 0; a < n; a++) {
        for (int b = a; b < n; b++) {
            if (b & 1) { T; s++; KEEP(s); }
            for (int c = 0; c < b; c++) {
                T;
                for (int d = c; d > 0; d--) { KEEP(s); s += d; if (s % 11 == 3) { T; break; } }
            }
            do { s--; KEEP(s); } while (s % 5);
        }
        T;
    }
    return s;
}
__attribute__((noinline)) static int skip(const unsigned char *p, int n) {
    int found = 0;
    for (int i = 2; i < n; i++) {
        if (p[i]) { T; continue; }
        found++;
        for (int k = i; k < n; k += i) { KEEP(k); found ^= k; }
    }
    return found;
}
static int shared(int n) {
    int i = 0, s = 0;
    if (n & 1) {
        for (; i < n; i++) { s += i; KEEP(s); if (s == 21) goto end; }
    } else {
        for (; i < n; i++) { s ^= i; KEEP(s); if (s == 5) goto end; }
        T;
    }
    T;
end:
    T;
    return s;
}
int main(int argc, char **argv) {
    unsigned char p[300] = { 0 };
    for (int i = 0; i < 300; i += 3) p[i] = 1;
    long sum = deep(12 * argc) + skip(p, 300);
    for (int n = 0; n < 40; n++) { sum += shared(n); KEEP(sum); }
    printf("%ld\n", sum);
}
"#,
    );
}

#[test]
fn loops_with_calls_that_come_back() {
    check_with_inline_tracer(
        "calls.c",
        r#"
__attribute__((noinline)) static unsigned mix(unsigned x) { if (x & 1) { T; return x * 3; } return x ^ 5; }
__attribute__((noinline)) static unsigned many(char **words, int n) {
    unsigned s = 0;
    for (int i = 0; i < n; i++) { s += strlen(words[i]) + mix(i) + mix(s); KEEP(s); }
    return s;
}
__attribute__((noinline)) static unsigned self(unsigned n) {
    unsigned s = 0;
    for (unsigned i = 0; i < n; i++) { T; s += mix(i); if (i == 3) { T; s += self(n / 2); } KEEP(s); }
    return s;
}
int main(int argc, char **argv) {
    char *words[] = { "a", "bcd", "", "efghi", "jk" };
    printf("%u %u\n", many(words, 4 + argc), self(40));
}
"#,
    );
}

#[test]
fn jumps_into_and_between_loops() {
    check_with_inline_tracer(
        "jumps.c",
        r#"
__attribute__((noinline)) static int table(const unsigned char *code, int n) {
    static void *const labels[] = { &&inc, &&twice, &&again, &&stop };
    goto *labels[*code];
inc: T; n++; code++; goto *labels[*code];
twice: T; n *= 2; code++; goto *labels[*code];
again: if (--n > 9) { T; goto again; } code++; goto *labels[*code];
stop: T; return n;
}
__attribute__((noinline)) static int twist(int n, int side) {
    int r = 0;
    if (side) goto right;
left:
    r += 1; KEEP(r);
    if (--n <= 0) { T; return r; }
    if (n % 5) goto left;
right:
    r += 100; KEEP(r);
    if (--n <= 0) { T; return r; }
    if (n % 3) goto right;
    goto left;
}
int main(int argc, char **argv) {
    const unsigned char code[] = { 0, 1, 1, 2, 1, 2, 0, 3 };
    int sum = 0;
    for (int n = 0; n < 30; n++) { sum += table(code, n) + twist(n * argc, n & 1); KEEP(sum); }
    printf("%d\n", sum);
}
"#,
    );
}

#[test]
fn vectorized_loops() {
    let source = r#"
static float a[4096], b[4096];
static int v[4096];
__attribute__((noinline)) static float dot(int n) { float s = 0; for (int i = 0; i < n; i++) s += a[i] * b[i]; return s; }
__attribute__((noinline)) static int total(int n, int side) {
    if (side) { T; n -= 3; KEEP(n); }
    int s = 0;
    for (int i = 0; i < n; i++) s += v[i] > 3 ? v[i] : 1;
    return s;
}
int main(int argc, char **argv) {
    for (int i = 0; i < 4096; i++) { a[i] = i & 7; b[i] = i & 3; v[i] = i & 15; }
    float s = 0;
    int t = 0;
    for (int r = 0; r < 70 * argc; r++) { T; s += dot(4000 + r); t += total(r * 3 + 3, r & 1); }
    printf("%f %d\n", s, t);
}
"#;
    check_with(
        "vectors.c",
        &format!("{INLINE_TRACER}{source}"),
        &[O2, O3],
        &["-ffast-math", "-mavx2"],
        &|_| {},
    );
}

/// A loop without an exit counts in memory, because nothing would write its registers back.
#[test]
fn endless_loops_count_in_memory() {
    let source = r#"
#include <signal.h>
#include <unistd.h>
#include <stdio.h>
#include <stdlib.h>
static volatile long turns;
static void end(int signal) { printf("%ld", turns); exit(0); }
__attribute__((noinline)) static void spin(void) { for (;;) turns++; }
int main(void) { signal(SIGALRM, end); alarm(1); spin(); }
"#;
    let workspace = Workspace::new();
    let bitcode = workspace.compile("clang-22", "endless.c", source, &["-O2", "-fPIE"]);
    let patched = weave(&library("22"), &bitcode, &options("endless.c", O2), 64);
    let program_run = workspace.run(std::slice::from_ref(&patched.woven.object), &["-pie"]);
    let mut functions = patched.map.functions.iter();
    let spin = functions
        .find(|function| &*function.linkage_name == "spin")
        .unwrap();
    let counted: u64 = program_run.dump.counts(patched.base, spin).values().sum();
    let turns: u64 = String::from_utf8_lossy(&program_run.output.stdout)
        .parse()
        .unwrap();
    assert!(
        turns > 1000 && counted.abs_diff(turns) <= 1,
        "{counted} of {turns}"
    );
}
