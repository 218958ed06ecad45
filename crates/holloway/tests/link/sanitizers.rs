//! Sanitizers: a woven program behaves like the program that the compiler builds, and all its
//! functions are counted.
//!
//! clang 19 instruments the machine code of its fat objects twice, and such code crashes. The
//! bitcode in these objects is correct.

use std::process::{Command, Output};

use crate::failures::crashing_llvm;
use crate::link_support::{Sandbox, succeed};

const CLANGS: [&str; 2] = ["clang-19", "clang-22"];

/// A program of two files, so that functions and globals that the sanitizer instruments are used
/// across files. It has a constructor, and with an argument it uses memory after `free`.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(
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
    sandbox.write(
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
    sandbox
}

/// A program's output and exit status, without addresses and process ids.
fn behavior(
    sandbox: &Sandbox,
    program: &str,
    words: &[&str],
) -> (String, Vec<String>, Option<i32>) {
    let mut command = sandbox.command(sandbox.path(program));
    let data = tempfile::tempdir().unwrap();
    let output: Output = command
        .args(words)
        .env("HOLLOWAY_DATA", data.path())
        .env("ASAN_OPTIONS", "detect_leaks=0")
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    // A frame is printed as `#0 0x55 in wrong /tmp/x/f.c:9:58`. Frames of the C library are left
    // out.
    let frame = |line: &str| {
        let (number, address_and_place) = line.trim().split_once(" 0x")?;
        let (_, place) = address_and_place.split_once(" in ")?;
        let is_in_program = place.contains("main.c:") || place.contains("f.c:");
        (number.starts_with('#') && is_in_program).then(|| format!("{number} {place}"))
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
fn sanitized_programs_are_woven_and_behave_the_same() {
    let sandbox = sandbox();
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
            sandbox.tool(&format!("{clang} {words} plain"));
            let mut command = sandbox.holloway(&format!("cc --exits off {words} app"));
            let stderr = succeed(command.env("HOLLOWAY_CLANG", clang));
            assert_eq!(stderr, "", "{case}");
            assert_eq!(sandbox.modules("app"), ["main.o", "f.o"], "{case}");
            let plain = behavior(&sandbox, "plain", &[]);
            assert_eq!(behavior(&sandbox, "app", &[]), plain, "{case}");
            assert!(
                plain.0.starts_with("early\n") && plain.2 == Some(3),
                "{plain:?}"
            );
            let paths = sandbox.run("app").paths;
            let counts = ["early", "g"].map(|name| paths.get(name).copied());
            assert_eq!(counts, [Some(1), Some(5)], "{case}: {paths:?}");
            assert!(paths.contains_key("main"), "{case}: {paths:?}");
            if sanitizer.contains("address") {
                // AddressSanitizer's tables of globals of all modules are adjacent. One module
                // registers and unregisters them all.
                let hooks = ["asan.module_ctor", "asan.module_dtor"].map(|name| paths.get(name));
                assert_eq!(hooks, [Some(&1), Some(&1)], "{case}");
                let plain = behavior(&sandbox, "plain", &["bad"]);
                assert_eq!(behavior(&sandbox, "app", &["bad"]), plain, "{case}");
                let report = &plain.1;
                let has_kind = report
                    .first()
                    .is_some_and(|kind| kind == "heap-use-after-free");
                let names_function = |line: &String| line.contains("wrong ");
                assert!(
                    has_kind && report.iter().any(names_function),
                    "{case}: {report:?}"
                );
            }
        }
    }
}

/// Builds the program of a sandbox with AddressSanitizer by clang 19 alone. Returns its behavior.
fn plain_behavior(sandbox: &Sandbox) -> (String, Vec<String>, Option<i32>) {
    sandbox.tool("clang-19 -g -O1 -fsanitize=address main.c f.c -o plain");
    behavior(sandbox, "plain", &[])
}

/// The command that builds and weaves the program of a sandbox in the same way.
fn weave_sanitized(sandbox: &Sandbox) -> Command {
    let mut command = sandbox.holloway("cc -g -O1 -fsanitize=address main.c f.c -o app");
    command.env("HOLLOWAY_CLANG", "clang-19");
    command
}

/// A module that cannot be woven is compiled from its bitcode, because its machine code would
/// crash.
#[test]
fn machine_code_that_is_instrumented_twice_is_never_linked() {
    let sandbox = sandbox();
    let plain = plain_behavior(&sandbox);
    let llvm = crashing_llvm(&sandbox, "LLVMBuildICmp");
    let stderr = succeed(weave_sanitized(&sandbox).env("HOLLOWAY_LLVM", &llvm));
    assert_eq!(stderr.lines().count(), 2, "{stderr}");
    let is_warning = |line: &str| line.ends_with(": linked without probes");
    assert!(stderr.lines().all(is_warning), "{stderr}");
    assert_eq!(behavior(&sandbox, "app", &[]), plain);
}

/// Usually the machine code of a module that includes a file (`.incbin`) is linked. But machine
/// code that is instrumented twice would crash, so this module is woven, too.
#[test]
fn a_module_that_includes_a_file_is_woven_if_its_machine_code_would_crash() {
    let sandbox = sandbox();
    let plain = plain_behavior(&sandbox);
    sandbox.write("blob", "12345");
    let blob = r#"__asm__(".section .rodata\n.globl blob\nblob: .incbin \"blob\"\n.text");"#;
    let source = std::fs::read_to_string(sandbox.path("f.c")).unwrap();
    sandbox.write("f.c", &format!("{blob}\n{source}"));
    let stderr = succeed(&mut weave_sanitized(&sandbox));
    assert_eq!(stderr, "");
    assert_eq!(sandbox.modules("app"), ["main.o", "f.o"]);
    assert_eq!(behavior(&sandbox, "app", &[]), plain);
}
