//! Streams of paths: every word is in its place, on every LLVM, at every level.

use crate::support;
use crate::support::{
    Bench, Followed, Placed, Program, SETUPS, Stream, TRACED, follow, library, options, weave,
};
use holloway_abi::Kind::{self, Loops, Trace};
use holloway_weave::ModuleOptions;
use holloway_weave::OptLevel::{self, O0, O1, O2};

const LEVELS: [OptLevel; 3] = [O0, O1, O2];

/// The result of one program's run.
struct Seen {
    placed: Placed,
    stream: Stream,
    followed: Followed,
    level: OptLevel,
}

/// Weaves a traced source for a kind with every setup and level. Each stream must consist of whole
/// activations. The paths of a trace must run the traced lines in their order. The paths of loops
/// must run each traced line as often as the tracer.
fn check(name: &str, source: &str, collect: Kind, args: &[&str]) -> Vec<Seen> {
    let source = format!("{TRACED}{}", source.replace("T;", "\nT;\n"));
    let traced = support::traced_lines(&source);
    let mut all = Vec::new();
    for setup in SETUPS {
        for level in LEVELS {
            let context = format!("{name} with {setup:?} at {level}, {collect}");
            let bench = Bench::new();
            let flag = format!("-{level}");
            let args: Vec<&str> = args
                .iter()
                .copied()
                .chain([flag.as_str(), "-fPIE"])
                .collect();
            let bitcode = bench.compile(setup.clang, name, &source, &args);
            let options = ModuleOptions {
                collect,
                ..options(name, level)
            };
            let placed = weave(&library(setup.llvm), &bitcode, &options, 640);
            assert!(
                placed.map.skipped.is_empty(),
                "{context}: {:?}",
                placed.map.skipped
            );
            let stream = bench.stream(std::slice::from_ref(&placed.woven.object), &["-pie"]);
            assert_eq!(stream.status, Some(0), "{context}: {}", stream.stdout);
            let followed = follow(&placed, &stream, name, &traced);
            let mut found: Vec<u32> = followed
                .steps
                .iter()
                .flat_map(|s| s.lines.clone())
                .collect();
            for (step, count) in &followed.counted {
                for _ in 0..*count {
                    found.extend(&step.lines);
                }
            }
            assert!(collect == Loops || followed.counted.is_empty());
            let mut lines: Vec<u32> = stream
                .lines
                .iter()
                .copied()
                .filter(|line| traced.contains(line))
                .collect();
            if collect == Loops {
                found.sort_unstable();
                lines.sort_unstable();
            }
            assert_eq!(found, lines, "{context}: lines (left: from the stream)");
            all.push(Seen {
                placed,
                stream,
                followed,
                level,
            });
        }
    }
    all
}

/// The number of activations whose begin is in the stream.
fn opened(followed: &Followed) -> u64 {
    let opened = followed.steps.iter().filter(|step| step.opens).count();
    let counted = followed.counted.iter().filter(|(step, _)| step.opens);
    opened as u64 + counted.map(|(_, count)| count).sum::<u64>()
}

#[test]
fn calls_and_recursion() {
    let source = r#"
#include <stdio.h>
__attribute__((noinline)) static int fib(int n) { T; if (n < 2) { T; return n; } int a = fib(n - 1); T; return a + fib(n - 2); }
__attribute__((noinline)) static int twice(int n) { int s = fib(n); T; s += fib(n + 1); T; return s; }
int main(int argc, char **argv) { T; printf("%d\n", twice(9 + argc)); T; }
"#;
    for collect in [Trace, Loops] {
        for seen in check("calls.c", source, collect, &[]) {
            assert!(seen.followed.open.is_empty());
            let opened = opened(&seen.followed);
            // main, twice, fib(10) and fib(11). At -O2, fib's second call becomes a loop.
            if seen.level == O0 {
                assert_eq!(opened, 2 + 177 + 287, "{}", seen.stream.stdout);
            }
        }
    }
}

#[test]
fn loops_and_switches() {
    let source = r#"
#include <stdio.h>
__attribute__((noinline)) static int step(int c, int x) {
    switch (c) { case 'a': case 'e': T; return x + 1; case ' ': T; x++; /* fall through */ case 'x': T; return 2 * x; default: return x; }
}
__attribute__((noinline)) static unsigned sum(const unsigned *a, int n) {
    unsigned s = 0;
    for (int i = 0; i < n; i++) { if (a[i] % 3) s += a[i] * i; else s ^= a[i]; for (int j = i; j > 40; j--) { if (j & 1) { T; s += j; } } }
    return s;
}
int main(int argc, char **argv) {
    unsigned a[50]; int x = 0;
    for (int i = 0; i < 50; i++) { a[i] = i * 7919u * argc; }
    for (const char *s = "an example of text, and some exits"; *s; s++) { T; x = step(*s, x); }
    printf("%u %d\n", sum(a, 50), x);
}
"#;
    for collect in [Trace, Loops] {
        for seen in check("loops.c", source, collect, &[]) {
            assert!(seen.followed.open.is_empty());
            assert_eq!(seen.followed.caught, 0);
        }
    }
}

#[test]
fn a_word_is_one_more_than_its_counter() {
    let source =
        "__attribute__((noinline)) static int f(int x) { if (x > 3) { T; return 1; } T; return 0; }
int main(int argc, char **argv) { int s = 0; T; for (int i = argc; i < 7; i++) s += f(i); return s != 3; }";
    for seen in check("words.c", source, Trace, &[]) {
        let paths = |name: &str| -> Vec<(bool, bool, Vec<u32>)> {
            let number = seen
                .placed
                .map
                .functions
                .iter()
                .position(|f| f.name == name)
                .unwrap();
            let steps = seen
                .followed
                .steps
                .iter()
                .filter(|step| step.function == number);
            steps
                .map(|step| (step.opens, step.closes, step.lines.clone()))
                .collect()
        };
        // f's paths: one up to the tracer, and one from there to its end. The tracer is called
        // last, so at -O2 the call may be a jump.
        let all = paths("f");
        let opening: Vec<_> = all.iter().filter(|path| path.0).collect();
        assert_eq!(opening.len(), 6);
        assert!(
            opening.iter().all(|path| path.2.is_empty() && !path.1),
            "{opening:?}"
        );
        let closing: Vec<u32> = all
            .iter()
            .filter(|path| path.1)
            .flat_map(|p| p.2.clone())
            .collect();
        assert_eq!(closing.len(), 6);
        assert_eq!(closing[..3], [closing[0]; 3]);
        assert_eq!(closing[3..], [closing[3]; 3]);
        assert!(closing[3] < closing[0]);
        assert_eq!(seen.stream.words.len(), seen.followed.steps.len());
    }
}

const LONGJMP: &str = r#"
#include <setjmp.h>
#include <stdio.h>
static jmp_buf env;
static volatile int depth;
__attribute__((noinline)) static void leave(int n) {
    T;
    if (n > 6) { T; longjmp(env, n); }
    leave(n + 1);
    depth++;
}
int main(int argc, char **argv) {
    volatile int tries = 0;
    T;
    int back = setjmp(env);
    T;
    tries++;
    for (volatile int i = 0; i < tries; i++) { T; }
    if (tries < 5) { T; leave(tries); }
    T;
    printf("%d %d\n", tries, back);
}
"#;

#[test]
fn longjmp_leaves_frames() {
    for seen in check("setjmp.c", LONGJMP, Trace, &[]) {
        assert!(seen.followed.open.is_empty(), "{:?}", seen.followed.open);
        // One setjmp that returns five times.
        assert_eq!(
            (seen.followed.caught, seen.followed.left),
            (5, 7 + 6 + 5 + 4)
        );
    }
}

const EXCEPTIONS: &str = r#"
#include <cstdio>
struct Guard { int &n; ~Guard() { n++; T; } };
__attribute__((noinline)) static int thrower(int n) { T; if (n > 3) { T; throw n; } return n; }
__attribute__((noinline)) static int middle(int n) { int s = thrower(n); T; return s + thrower(n + 1); }
__attribute__((noinline)) static int guarded(int n, int &count) { Guard guard{count}; T; return middle(n) + 1; }
int main(int argc, char **argv) {
    int count = 0, sum = 0;
    for (int i = argc; i < 7; i++) {
        try { T; sum += guarded(i, count); T; }
        catch (int n) { T; sum += 100 * n; }
    }
    std::printf("%d %d\n", sum, count);
    return count != 6;
}
"#;

#[test]
fn exceptions_leave_frames() {
    for seen in check("exceptions.cc", EXCEPTIONS, Trace, &[]) {
        assert!(seen.followed.open.is_empty(), "{:?}", seen.followed.open);
        if seen.level == O0 {
            // i = 3 throws in middle's second call; 4, 5, and 6 throw in its first call. The
            // thrower and middle are left at guarded's pad. After guarded resumed, main's pad
            // catches the exception and leaves no frame.
            assert!(seen.followed.caught >= 8, "{}", seen.followed.caught);
            assert_eq!(seen.followed.left, 8);
        }
    }
}

#[test]
fn loops_come_back_to_frames() {
    // Without traced lines, the stream does not show left paths.
    for (name, source, left) in [("setjmp.c", LONGJMP, 0), ("exceptions.cc", EXCEPTIONS, 0)] {
        for seen in check(name, &source.replace("T;", ""), Loops, &[]) {
            assert!(
                seen.followed.open.is_empty(),
                "{name}: {:?}",
                seen.followed.open
            );
            assert!(seen.followed.caught > 0 && seen.followed.left >= left);
        }
    }
}

#[test]
fn tail_calls_end_an_activation() {
    let source = r#"
#include <stdio.h>
static int odd(int n, int k);
__attribute__((noinline)) static int even(int n, int k) { T; if (n == 0) return 1; __attribute__((musttail)) return odd(n - 1, k + n); }
__attribute__((noinline)) static int odd(int n, int k) { T; if (n == 0) return k & 1; __attribute__((musttail)) return even(n - 1, k ^ n); }
int main(int argc, char **argv) { printf("%d\n", even(200000 * argc, 1)); }
"#;
    for collect in [Trace, Loops] {
        for seen in check("tail.c", source, collect, &[]) {
            assert!(seen.followed.open.is_empty());
            assert_eq!(opened(&seen.followed), 200_002);
        }
    }
}

#[test]
fn functions_that_are_not_optimised() {
    let source = r#"
__attribute__((optnone, noinline)) static int slow(int n) { int s = 0; for (int i = 0; i < n; i++) { T; s += i; } return s; }
__attribute__((noinline)) static int fast(int n) { int s = 0; for (int i = 0; i < n; i++) { T; s += slow(i); } return s; }
int main(int argc, char **argv) { return fast(9 + argc) != 120; }
"#;
    for collect in [Trace, Loops] {
        check("optnone.c", source, collect, &[]);
    }
}

#[test]
fn frames_at_the_end_stay_open() {
    let source = r#"
#include <stdlib.h>
__attribute__((noinline)) static void last(int n) { T; if (n) last(n - 1); T; exit(0); }
int main(int argc, char **argv) { T; last(3 + argc); }
"#;
    for seen in check("exit.c", source, Trace, &[]) {
        assert!(!seen.followed.open.is_empty());
    }
}

/// A function of 2^18 paths is cut, with or without a loop, until an array of words has room for
/// them.
#[test]
fn many_paths_are_cut() {
    let branches: String = (0..18)
        .map(|bit| format!("if (x & {}u) s = s * 3 + a[{bit}];\n", 1u32 << bit))
        .collect();
    let source = format!(
        "static volatile unsigned a[18] = {{ 3, 1, 4, 1, 5 }};
__attribute__((noinline)) static unsigned f(unsigned x, unsigned s) {{ {branches} return s; }}
int main(void) {{ unsigned s = 1; for (unsigned i = 0; i < 300; i++) s = f(i * 2654435761u, s); T; return s == 0; }}"
    );
    for collect in [Trace, Loops] {
        for seen in check("many.c", &source, collect, &[]) {
            let f = seen
                .placed
                .map
                .functions
                .iter()
                .find(|f| f.name == "f")
                .unwrap();
            assert!(
                f.path_count <= holloway_weave::STREAM_LIMIT,
                "{}",
                f.path_count
            );
            if seen.level == O0 {
                assert!(
                    f.path_count > holloway_weave::ARRAY_LIMIT,
                    "{}",
                    f.path_count
                );
            }
        }
    }
}

/// Checks that the program and its signal handlers appended as many words as they report.
fn check_handlers(source: &str, args: &[&str]) {
    for collect in [Trace, Loops] {
        for seen in check("signals.c", source, collect, args) {
            let stdout = seen.stream.stdout.split_whitespace();
            let printed: Vec<u64> = stdout.map(|n| n.parse().unwrap()).collect();
            let calls = |name: &str| {
                let functions = &seen.placed.map.functions;
                let number = functions.iter().position(|f| f.name == name);
                let of = |step: &&support::Step| Some(step.function) == number && step.opens;
                let counted = seen.followed.counted.iter();
                let counted = counted.filter(|(step, _)| Some(step.function) == number);
                let counted: u64 = counted.map(|(_, count)| count).sum();
                seen.followed.steps.iter().filter(of).count() as u64 + counted
            };
            let found = [calls("work"), calls("note"), calls("tick")];
            assert_eq!(found, printed[1..], "{collect}");
            assert!(printed[3] > 20, "{printed:?}");
        }
    }
}

const HANDLERS: &str = r#"
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
static volatile unsigned long called, ended;
__attribute__((noinline)) static void note(int n) { if (n & 1) called += 2; called--; }
static void tick(int signal) { for (int i = 0; i < MANY; i++) note(i | 1); ended++; }
__attribute__((noinline)) static unsigned work(unsigned x) { unsigned s = 0; for (unsigned i = 0; i < 3; i++) { if ((x ^ i) & 1) s += x; } return s; }
"#;

/// A handler on a timer: thousands of words are appended between two signals.
#[test]
fn handlers_on_a_timer() {
    let main = r#"
int main(void) {
    struct sigaction action = { .sa_handler = tick };
    struct itimerval often = { { 0, 200 }, { 0, 200 } }, never = { { 0, 0 }, { 0, 0 } };
    unsigned sum = 0, calls = 0;
    sigaction(SIGALRM, &action, 0);
    setitimer(ITIMER_REAL, &often, 0);
    while (ended < 40 && calls < 2000000) { sum += work(calls++); }
    setitimer(ITIMER_REAL, &never, 0);
    printf("%u %u %lu %lu\n", sum, calls, called, ended);
}
"#;
    check_handlers(
        &format!("#define MANY 900\n{HANDLERS}{main}"),
        &["-fno-inline"],
    );
}

/// A handler runs after every single instruction, also between two instructions of an append.
#[test]
fn handlers_between_any_two_instructions() {
    let main = r#"
int main(void) {
    struct sigaction action = { .sa_handler = tick };
    unsigned sum = 0, calls = 0;
    sigaction(SIGTRAP, &action, 0);
    __asm__ volatile("lea -128(%%rsp), %%rsp\n pushfq\n orl $256, (%%rsp)\n popfq\n lea 128(%%rsp), %%rsp" ::: "memory", "cc");
    while (calls < 30) { sum += work(calls++); }
    __asm__ volatile("lea -128(%%rsp), %%rsp\n pushfq\n andl $-257, (%%rsp)\n popfq\n lea 128(%%rsp), %%rsp" ::: "memory", "cc");
    printf("%u %u %lu %lu\n", sum, calls, called, ended);
}
"#;
    check_handlers(
        &format!("#define MANY 2\n{HANDLERS}{main}"),
        &["-fno-inline"],
    );
}

/// Activations of a single path have counters, also in functions with loops. All other activations
/// are words. No activation is both.
#[test]
fn activations_of_one_path_are_counted() {
    let source = r#"
#include <stdio.h>
__attribute__((noinline)) static unsigned plain(unsigned x) { if (x & 1) { T; return x * 3; } T; return x / 2; }
__attribute__((noinline)) static unsigned turns(unsigned n, unsigned x) {
    if (n & 8) { T; x ^= 5; }
    while (n & 7) { T; x += plain(n--); if (x & 16) { T; x++; } }
    if (x & 1) { T; return x + 1; }
    T;
    return x;
}
int main(int argc, char **argv) { unsigned s = 0; for (unsigned i = 0; i < 64; i++) s = turns(i, s); printf("%u\n", s + argc); return 0; }
"#;
    for seen in check("alone.c", source, Loops, &[]) {
        let number = |name: &str| {
            let mut functions = seen.placed.map.functions.iter();
            functions.position(|f| f.name == name).unwrap()
        };
        let counted = |name: &str| -> u64 {
            let counted = seen.followed.counted.iter();
            let own = counted.filter(|(step, _)| step.function == number(name));
            own.map(|(_, count)| count).sum()
        };
        let words = |name: &str| {
            let steps = seen.followed.steps.iter();
            steps.filter(|step| step.function == number(name)).count()
        };
        assert_eq!((counted("plain"), words("plain")), (8 * 28, 0));
        assert_eq!(counted("main"), 0);
        // One in eight calls runs no further iteration. Each of the others has a word for its
        // entry, its further turns, and its end. Optimized loops end where they turn.
        let turns = (counted("turns"), words("turns"));
        assert!(turns.0 >= 8, "{turns:?}");
        if seen.level == O0 {
            assert_eq!(turns, (8, 8 * (28 + 7)));
        }
        assert!(seen.followed.open.is_empty());
    }
}

/// Random programs that do not jump out of frames: every line has the tracer's count.
#[test]
fn random_programs() {
    for seed in 500..503 {
        let source = Program::new(seed, false).text;
        check(
            &format!("random{seed}.c"),
            &source,
            Loops,
            &["-Wno-everything"],
        );
    }
}
