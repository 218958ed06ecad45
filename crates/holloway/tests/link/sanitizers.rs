//! Sanitizers: woven code behaves like the compiler's own code, and all its functions are counted.
//!
//! clang 19 instruments the machine code of its fat objects twice, which crashes; their bitcode is
//! sound.

use std::process::Output;

use crate::failures::crashing_llvm;
use crate::link_support::{Yard, succeed};

const CLANGS: [&str; 2] = ["clang-19", "clang-22"];

/// Two files, so that instrumented names go from one to the other; a constructor, and a use after
/// `free` when asked.
fn yard() -> Yard {
    let yard = Yard::new();
    yard.write(
        "main.c",
        r#"#include <stdio.h>
#include <stdlib.h>
int f(int x, int (*g)(int)), wrong(int *at);
static int table[4] = {1, 2, 3, 4};
int shared[4] = {5, 6, 7, 8};
__attribute__((constructor)) static void early(void) { puts("early"); }
__attribute__((noinline)) int g(int x) { return table[x & 3] + shared[x & 3]; }
int main(int count, char **words) {
    int sum = 0;
    for (int i = 0; i < 10; i++) sum += f(i, g);
    printf("%d\n", sum);
    int *freed = malloc(40);
    free(freed);
    return count > 1 ? wrong(freed) : 3;
}
"#,
    );
    yard.write(
        "f.c",
        r#"extern int shared[4];
static const char *const names[] = {"a", "b"};
__attribute__((noinline)) int f(int x, int (*g)(int)) {
    int squares[8];
    for (int i = 0; i < 8; i++) squares[i] = i * shared[i & 3];
    if (x & 1) return squares[x & 7];
    return g(x) + names[x & 1][0];
}
__attribute__((noinline)) int wrong(int *at) { return at[2]; }
"#,
    );
    yard
}

/// A program's output and exit status, without addresses and process ids.
fn behavior(yard: &Yard, program: &str, words: &[&str]) -> (String, Vec<String>, Option<i32>) {
    let mut command = yard.command(yard.path(program));
    let data = tempfile::tempdir().unwrap();
    let output: Output = command
        .args(words)
        .env("HOLLOWAY_DATA", data.path())
        .env("ASAN_OPTIONS", "detect_leaks=0")
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    // `#0 0x55 in wrong /tmp/x/f.c:9:58`; the C library's own frames have no place in a source of
    // ours.
    let frame = |line: &str| {
        let (number, rest) = line.trim().split_once(" 0x")?;
        let (_, place) = rest.split_once(" in ")?;
        let is_ours = place.contains("main.c:") || place.contains("f.c:");
        (number.starts_with('#') && is_ours).then(|| format!("{number} {place}"))
    };
    let kind = |line: &str| {
        let (_, kind) = line.split_once("Sanitizer: ")?;
        kind.split(' ').next().map(str::to_owned)
    };
    let report = stderr.lines().filter_map(|line| frame(line).or(kind(line)));
    let stdout = String::from_utf8(output.stdout).unwrap();
    (stdout, report.collect(), output.status.code())
}

#[test]
fn sanitized_code_is_woven_and_does_the_same() {
    let yard = yard();
    for clang in CLANGS {
        for sanitizer in [
            "address -O0",
            "address -O2",
            "dataflow -O1",
            "memory -O1",
            "thread -O1",
            "undefined -O1",
        ] {
            let case = format!("{clang} {sanitizer}");
            let words = format!("-g -Werror -fsanitize={sanitizer} main.c f.c -o");
            yard.tool(&format!("{clang} {words} plain"));
            let mut command = yard.holloway(&format!("cc --exits off {words} app"));
            let stderr = succeed(command.env("HOLLOWAY_CLANG", clang));
            assert_eq!(stderr, "", "{case}");
            assert_eq!(yard.modules("app"), ["main.o", "f.o"], "{case}");
            let plain = behavior(&yard, "plain", &[]);
            assert_eq!(behavior(&yard, "app", &[]), plain, "{case}");
            assert!(
                plain.0.starts_with("early\n") && plain.2 == Some(3),
                "{plain:?}"
            );
            let paths = yard.run("app").paths;
            let counts = ["early", "g"].map(|name| paths.get(name).copied());
            assert_eq!(counts, [Some(1), Some(5)], "{case}: {paths:?}");
            assert!(paths.contains_key("main"), "{case}: {paths:?}");
            if sanitizer.contains("address") {
                // The tables of all modules lie together, and are registered and taken back by one
                // of them.
                let hooks = ["asan.module_ctor", "asan.module_dtor"].map(|name| paths.get(name));
                assert_eq!(hooks, [Some(&1), Some(&1)], "{case}");
                let plain = behavior(&yard, "plain", &["bad"]);
                assert_eq!(behavior(&yard, "app", &["bad"]), plain, "{case}");
                let report = &plain.1;
                let is_told = report
                    .first()
                    .is_some_and(|kind| kind == "heap-use-after-free");
                let names_it = |line: &String| line.contains("wrong ");
                assert!(is_told && report.iter().any(names_it), "{case}: {report:?}");
            }
        }
    }
}

/// A module that cannot be woven is compiled from its bitcode, because its machine code would
/// crash.
#[test]
fn machine_code_that_is_instrumented_twice_is_never_linked() {
    let yard = yard();
    let build = |words: &str| {
        let mut command = yard.holloway(&format!("cc -g -O1 -fsanitize=address {words}"));
        command.env("HOLLOWAY_CLANG", "clang-19");
        command
    };
    yard.tool("clang-19 -g -O1 -fsanitize=address main.c f.c -o plain");
    let plain = behavior(&yard, "plain", &[]);
    let llvm = crashing_llvm(&yard, "LLVMBuildICmp");
    let stderr = succeed(build("main.c f.c -o app").env("HOLLOWAY_LLVM", &llvm));
    assert_eq!(stderr.lines().count(), 2, "{stderr}");
    let is_said = |line: &str| line.ends_with(": linked without probes");
    assert!(stderr.lines().all(is_said), "{stderr}");
    assert_eq!(behavior(&yard, "app", &[]), plain);

    yard.write("blob", "12345");
    let blob = r#"__asm__(".section .rodata\n.globl blob\nblob: .incbin \"blob\"\n.text");"#;
    let source = std::fs::read_to_string(yard.path("f.c")).unwrap();
    yard.write("f.c", &format!("{blob}\n{source}"));
    let stderr = succeed(&mut build("main.c f.c -o app"));
    assert_eq!(stderr, "");
    assert_eq!(yard.modules("app"), ["main.o", "f.o"]);
    assert_eq!(behavior(&yard, "app", &[]), plain);
}
