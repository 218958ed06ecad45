//! Tests streams of paths: the words form whole activations, and their paths have the traced lines,
//! with every LLVM, at every level.

use crate::support;
use crate::support::{
    FollowedStream, PatchedModule, Program, SETUPS, Stream, TRACED, Workspace, follow, library,
    options, weave,
};
use holloway_abi::Kind::{self, Loops, Trace};
use holloway_weave::ModuleOptions;
use holloway_weave::OptLevel::{self, O0, O1, O2};

const LEVELS: [OptLevel; 3] = [O0, O1, O2];

/// A woven program and the stream of its run.
struct WovenRun {
    patched: PatchedModule,
    stream: Stream,
    followed: FollowedStream,
    level: OptLevel,
}

/// Weaves a traced source for a kind with every setup and level. Each stream must consist of whole
/// activations. The paths of a trace must run the traced lines in their order. The paths of loops
/// must run each traced line as often as the tracer.
fn check(name: &str, source: &str, collect: Kind, args: &[&str]) -> Vec<WovenRun> {
    let source = format!("{TRACED}{}", source.replace("T;", "\nT;\n"));
    let traced = support::traced_lines(&source);
    let mut all = Vec::new();
    for setup in SETUPS {
        for level in LEVELS {
            let context = format!("{name} with {setup:?} at {level}, {collect}");
            let workspace = Workspace::new();
            let flag = format!("-{level}");
            let args: Vec<&str> = args
                .iter()
                .copied()
                .chain([flag.as_str(), "-fPIE"])
                .collect();
            let bitcode = workspace.compile(setup.clang, name, &source, &args);
            let options = ModuleOptions {
                collect,
                ..options(name, level)
            };
            let patched = weave(&library(setup.llvm), &bitcode, &options, 640);
            assert!(
                patched.map.skipped.is_empty(),
                "{context}: {:?}",
                patched.map.skipped
            );
            let stream = workspace.stream(std::slice::from_ref(&patched.woven.object), &["-pie"]);
            assert_eq!(stream.status, Some(0), "{context}: {}", stream.stdout);
            let followed = follow(&patched, &stream, name, &traced);
            let mut found_lines: Vec<u32> = followed
                .steps
                .iter()
                .flat_map(|s| s.lines.clone())
                .collect();
            for (step, count) in &followed.counted {
                for _ in 0..*count {
                    found_lines.extend(&step.lines);
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
                found_lines.sort_unstable();
                lines.sort_unstable();
            }
            assert_eq!(
                found_lines, lines,
                "{context}: lines (left: from the stream)"
            );
            all.push(WovenRun {
                patched,
                stream,
                followed,
                level,
            });
        }
    }
    all
}

/// The number of activations that begin in the stream or are counted next to the ring.
fn opened_count(followed: &FollowedStream) -> u64 {
    let opened_count = followed.steps.iter().filter(|step| step.opens).count();
    let counted = followed.counted.iter().filter(|(step, _)| step.opens);
    opened_count as u64 + counted.map(|(_, count)| count).sum::<u64>()
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
        for woven_run in check("calls.c", source, collect, &[]) {
            assert!(woven_run.followed.open.is_empty());
            let opened_count = opened_count(&woven_run.followed);
            // main, twice, fib(10) and fib(11). At -O2, fib's second call becomes a loop.
            if woven_run.level == O0 {
                assert_eq!(opened_count, 2 + 177 + 287, "{}", woven_run.stream.stdout);
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
        for woven_run in check("loops.c", source, collect, &[]) {
            assert!(woven_run.followed.open.is_empty());
            assert_eq!(woven_run.followed.caught, 0);
        }
    }
}

#[test]
fn a_word_is_one_more_than_its_counter() {
    let source =
        "__attribute__((noinline)) static int f(int x) { if (x > 3) { T; return 1; } T; return 0; }
int main(int argc, char **argv) { int s = 0; T; for (int i = argc; i < 7; i++) s += f(i); return s != 3; }";
    for woven_run in check("words.c", source, Trace, &[]) {
        let paths = |name: &str| -> Vec<(bool, bool, Vec<u32>)> {
            let number = woven_run
                .patched
                .map
                .functions
                .iter()
                .position(|f| f.name == name)
                .unwrap();
            let steps = woven_run
                .followed
                .steps
                .iter()
                .filter(|step| step.function == number);
            steps
                .map(|step| (step.opens, step.closes, step.lines.clone()))
                .collect()
        };
        // Each call of f has two paths: one up to the call of the tracer, and one from this call to
        // the end.
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
        assert_eq!(woven_run.stream.words.len(), woven_run.followed.steps.len());
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
    for woven_run in check("setjmp.c", LONGJMP, Trace, &[]) {
        assert!(
            woven_run.followed.open.is_empty(),
            "{:?}",
            woven_run.followed.open
        );
        // One setjmp that returns five times.
        assert_eq!(
            (woven_run.followed.caught, woven_run.followed.left),
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
    for woven_run in check("exceptions.cc", EXCEPTIONS, Trace, &[]) {
        assert!(
            woven_run.followed.open.is_empty(),
            "{:?}",
            woven_run.followed.open
        );
        if woven_run.level == O0 {
            // i = 3 throws in middle's second call; 4, 5, and 6 throw in its first call. The
            // thrower and middle are left at guarded's pad. After guarded resumed, main's pad
            // catches the exception and leaves no frame.
            assert!(
                woven_run.followed.caught >= 8,
                "{}",
                woven_run.followed.caught
            );
            assert_eq!(woven_run.followed.left, 8);
        }
    }
}

#[test]
fn loops_record_frames_that_catch_control() {
    // The stream of the kind loops does not show the traced lines of left paths. So the sources
    // have no tracers here.
    for (name, source, left) in [("setjmp.c", LONGJMP, 0), ("exceptions.cc", EXCEPTIONS, 0)] {
        for woven_run in check(name, &source.replace("T;", ""), Loops, &[]) {
            assert!(
                woven_run.followed.open.is_empty(),
                "{name}: {:?}",
                woven_run.followed.open
            );
            assert!(woven_run.followed.caught > 0 && woven_run.followed.left >= left);
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
        for woven_run in check("tail.c", source, collect, &[]) {
            assert!(woven_run.followed.open.is_empty());
            assert_eq!(opened_count(&woven_run.followed), 200_002);
        }
    }
}

#[test]
fn functions_that_are_not_optimized() {
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
    for woven_run in check("exit.c", source, Trace, &[]) {
        assert!(!woven_run.followed.open.is_empty());
    }
}

/// A function of 2^18 paths is cut, with or without a loop, until its paths are within the limit of
/// a stream.
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
        for woven_run in check("many.c", &source, collect, &[]) {
            let f = woven_run
                .patched
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
            if woven_run.level == O0 {
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
        for woven_run in check("signals.c", source, collect, args) {
            let stdout = woven_run.stream.stdout.split_whitespace();
            let printed: Vec<u64> = stdout.map(|n| n.parse().unwrap()).collect();
            let calls = |name: &str| {
                let functions = &woven_run.patched.map.functions;
                let number = functions.iter().position(|f| f.name == name);
                let is_call = |step: &&support::Step| Some(step.function) == number && step.opens;
                let counted = woven_run.followed.counted.iter();
                let counted = counted.filter(|(step, _)| Some(step.function) == number);
                let counted: u64 = counted.map(|(_, count)| count).sum();
                woven_run.followed.steps.iter().filter(is_call).count() as u64 + counted
            };
            let found_lines = [calls("work"), calls("note"), calls("tick")];
            assert_eq!(found_lines, printed[1..], "{collect}");
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

/// A signal handler runs on a timer. Thousands of words are appended between two signals.
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

/// A signal handler runs after every instruction, also between two instructions of a probe.
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

/// Activations of a single path are counted, also in functions with loops. The paths of all other
/// activations are appended. No activation is counted and appended.
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
    for woven_run in check("alone.c", source, Loops, &[]) {
        let number = |name: &str| {
            let mut functions = woven_run.patched.map.functions.iter();
            functions.position(|f| f.name == name).unwrap()
        };
        let counted = |name: &str| -> u64 {
            let counted = woven_run.followed.counted.iter();
            let of_function = counted.filter(|(step, _)| step.function == number(name));
            of_function.map(|(_, count)| count).sum()
        };
        let words = |name: &str| {
            let steps = woven_run.followed.steps.iter();
            steps.filter(|step| step.function == number(name)).count()
        };
        assert_eq!((counted("plain"), words("plain")), (8 * 28, 0));
        assert_eq!(counted("main"), 0);
        // One in eight calls of `turns` runs no iteration, so it is a single path. Each other call
        // has a word for its entry, for each further iteration, and for its end. In optimized code
        // the loop's test may be at its end, so more calls are a single path.
        let turns = (counted("turns"), words("turns"));
        assert!(turns.0 >= 8, "{turns:?}");
        if woven_run.level == O0 {
            assert_eq!(turns, (8, 8 * (28 + 7)));
        }
        assert!(woven_run.followed.open.is_empty());
    }
}

/// In random programs that do not jump out of frames, every line has the tracer's count.
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
