//! A program of two C++ modules that share what linkers merge and replace.

use holloway_tests::optimized::Carrier;
use holloway_tests::tool::{clean, holloway_command, installed, run_ok, scratch};
use std::path::Path;
use std::process::Command;

/// What both modules see: an inline function with a static variable, a template, and a class with
/// virtual functions, which both modules contain.
const SHARED: &str = r#"
#include <cstdarg>
#include <cstdio>
#include <stdexcept>
inline int next() { static int count; return ++count; }
template <class T> T mix(T a, T b) { return a * 31 + (a > b ? b : a); }
struct Shape { virtual ~Shape() {} virtual long area(long n) const { return n; } };
struct Square : Shape { long area(long n) const override { if (n < 0) throw std::out_of_range("n"); return n * n; } };
Shape *make(long kind);
long total(int count, ...);
long other(long n);
extern int weak_number;
long weak_function(long n);
"#;

/// Strong definitions of what the other module defines weakly, another function `same`, and a class
/// that only this module knows.
const OTHER: &str = r#"
#include "shared.h"
int weak_number = 40;
long weak_function(long n) { return n % 3 ? n : next(); }
static __attribute__((noinline)) long same(long n) { return n * 5 + 1; }
static long (*volatile pointer)(long) = same;
struct Odd : Shape { long area(long n) const override { return n & 1 ? n * 3 : same(n); } };
Shape *make(long kind) { return kind % 4 == 0 ? new Square : kind % 4 == 1 ? new Shape : (Shape *)new Odd; }
long total(int count, ...) {
  va_list list;
  va_start(list, count);
  long sum = 0;
  for (int i = 0; i < count; i++) sum += i % 3 == 2 ? (long)va_arg(list, double) : va_arg(list, long);
  va_end(list);
  return sum;
}
static struct Early { Early() { next(); } } early;
long other(long n) {
  if (n % 97 == 0) throw n;
  return mix<long>(n, 7) + pointer(n);
}
"#;

/// The head of the main module. A large switch follows.
const MAIN: &str = r#"
#include "shared.h"
__attribute__((weak)) int weak_number = 1;
__attribute__((weak)) long weak_function(long n) { return -n; }
extern "C" __attribute__((weak)) long missing(long);
static __attribute__((noinline)) long same(long n) { return n ^ 3; }
static long (*volatile pointer)(long) = same;
__attribute__((constructor)) static void start() { next(); }
static long assembly(long n) {
#if defined(__x86_64__)
  __asm__ volatile("testq $1, %0\n jz 1f\n addq $5, %0\n1:" : "+r"(n) : : "cc");
#else
  if (n & 1) n += 5;
#endif
  return n;
}
struct Guard { long *sum; ~Guard() { *sum += 11; } };
static long guarded(long n) {
  long sum = 0;
  try {
    Guard guard{&sum};
    sum += other(n);
  } catch (long left) {
    sum += left * 2;
  }
  return sum;
}
"#;

const END: &str = r#"
int main() {
  unsigned long sum = weak_number;
  for (long n = 0; n < 30000; n++) {
    Shape *shape = make(n % 9);
    sum = sum * 33 + shape->area(n) + guarded(n) + assembly(n) + pointer(n) + weak_function(n);
    sum += large(n * 7919 % 700) + total(4, n, n + 1, 2.0 * n, n);
    if (missing) sum += missing(n);
    delete shape;
    try {
      if (n % 1000 == 0) sum += Square().area(-n - 1);
    } catch (const std::exception &error) {
      sum += error.what()[0];
    }
  }
  std::printf("%lu %d\n", sum, next());
}
"#;

/// A switch with 600 cases, some of which fall through.
fn large_switch() -> String {
    let case = |n: u64| {
        let (value, end) = (
            n * n % 257,
            if n.is_multiple_of(5) { "" } else { " break;" },
        );
        format!(
            "    case {}: n += {value};{end}\n",
            n * n % 601 + n % 2 * 1000 + n * 2000
        )
    };
    let cases: String = (0..600).map(case).collect();
    format!(
        "static __attribute__((noinline)) long large(long n) {{\n  switch (n * n % 601 + n % 2 * 1000 + n * 2000) {{\n{cases}    default: n = -n;\n  }}\n  return n;\n}}\n"
    )
}

#[test]
fn modules_with_weak_and_merged_symbols_do_the_same_with_any_plan() {
    let scratch = scratch("plans-modules").unwrap();
    let folder = scratch.path();
    let main = format!("{MAIN}{}{END}", large_switch());
    for (file, text) in [
        ("shared.h", SHARED),
        ("other.cpp", OTHER),
        ("main.cpp", &main),
    ] {
        std::fs::write(folder.join(file), text).unwrap();
    }
    let clang = installed("clang++-22").unwrap();
    for level in ["-O1", "-O2"] {
        let mut native = Command::new(&clang);
        let mut embed = holloway_command(["c++", "--embed"]);
        for (command, program) in [(&mut native, "native"), (&mut embed, "program")] {
            clean(command);
            command.env("HOLLOWAY_CLANG", &clang).current_dir(folder);
            command.args([level, "-g", "main.cpp", "other.cpp", "-o", program]);
            run_ok(command).unwrap();
        }
        let start = |program: &Path| run_ok(&mut Command::new(program)).map(|o| o.text());
        let expected = start(&folder.join("native")).unwrap();
        let same = |program: &Path| {
            anyhow::ensure!(start(program)? == expected, "it prints something else");
            Ok(())
        };
        let program = folder.join("program");
        same(&program).unwrap();
        let lines: Vec<usize> = (1..=main.lines().count()).collect();
        let carrier = Carrier {
            folder,
            program: &program,
            environment: &[],
            args: &[],
            other_args: None,
            lines: &lines,
            seed: 3,
        };
        let checked = carrier.check(&same).unwrap();
        assert!(checked.targets > 5, "{checked:?}");
    }
}
