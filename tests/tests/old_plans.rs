//! Tests plans of old programs: counts are found again after a change, and the optimized program
//! prints what the plain one prints.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::Command;

use holloway_tests::tool::{Output, clean, holloway_command, installed, run, run_ok, scratch};

/// A program with a hot loop, a helper that is not inlined, and a function that goes away.
const OLD: &str = "\
#include <stdio.h>
#include <stdlib.h>
#define KEPT __attribute__((noinline))
KEPT int weigh(int x) {
  int sum = 0;
  for (int i = 0; i < x; i++) {
    if (i % 3 == 0)
      sum += i;
    else if (i % 7 == 1)
      sum -= abs(sum - i);
    else
      sum ^= i;
  }
  return sum;
}
KEPT int parity(int x) {
  if (x % 10 == 9) {
    puts(\"nine\");
    return 1;
  }
  return x & 1;
}
KEPT int leaves(int x) {
  while (x > 100)
    x = x % 2 ? x / 3 : x / 2;
  return x;
}
int main(int count, char **words) {
  unsigned sum = 0;
  for (int i = 0; i < 300; i++)
    sum += weigh(i) + parity(i & 7) + leaves(i);
  printf(\"%u\\n\", sum);
}
";

/// Builds the source with its bitcode.
fn build(folder: &Path, name: &str, source: &str) {
    let file = format!("{name}.c");
    std::fs::write(folder.join(&file), source).unwrap();
    let mut command = holloway_command(["cc", "--embed", "-g", "-O2"]);
    clean(&mut command);
    command
        .env("HOLLOWAY_CLANG", installed("clang-22").unwrap())
        .current_dir(folder)
        .args([&file, "-o", name]);
    run_ok(&mut command).unwrap();
}

fn holloway(folder: &Path, words: &[&str]) -> Output {
    run(holloway_command(words).current_dir(folder)).unwrap()
}

fn start(folder: &Path, program: &str) -> String {
    run_ok(&mut Command::new(folder.join(program)))
        .unwrap()
        .text()
}

/// Applies a plan, and returns the line that says what was matched.
fn matched(folder: &Path, plan: &str, program: &str) -> String {
    let words = ["plan", "apply", "-o", "fast", "--plan", plan, program];
    let output = holloway(folder, &words);
    assert!(output.status.success(), "{}", output.stderr);
    assert_eq!(start(folder, "fast"), start(folder, program));
    let mut lines = output.stderr.lines().map(str::trim);
    let line = lines.find_map(|line| line.strip_prefix("Matched "));
    line.unwrap().to_owned()
}

#[test]
fn an_old_plan_is_matched_to_the_changed_program() {
    let scratch = scratch("old-plans").unwrap();
    let folder = scratch.path();
    build(folder, "old", OLD);
    let train = holloway(folder, &["plan", "train", "-o", "old.plan", "./old"]);
    assert!(train.status.success(), "{}", train.stderr);
    assert_eq!(
        matched(folder, "old.plan", "./old"),
        "4 functions: 4 unchanged"
    );

    // A check before the loop, a renamed function, and one that is another one now.
    let new = OLD
        .replace("int sum = 0;", "int sum = 0; if (x == 77) puts(\"77\");")
        .replace("parity", "is_odd")
        .replace("x = x % 2 ? x / 3 : x / 2;", "return abs(x * 5 - 1);")
        .replace("leaves", "fresh");
    build(folder, "new", &new);
    let line = matched(folder, "old.plan", "./new");
    let start = "4 functions: 2 unchanged, 1 changed (99.9 % of their counts), 1 gone; ";
    assert!(line.starts_with(start), "{line}");

    // Plans of the earlier version know equal graphs only.
    let plan = std::fs::read_to_string(folder.join("old.plan")).unwrap();
    let lines = plan.lines().filter(|line| !line.starts_with("code "));
    let earlier: String = lines.map(|line| format!("{line}\n")).collect();
    let earlier = earlier.replace("holloway plan 2", "holloway plan 1");
    std::fs::write(folder.join("earlier.plan"), &earlier).unwrap();
    assert_eq!(
        matched(folder, "earlier.plan", "./old"),
        "4 functions: 4 unchanged"
    );
    let line = matched(folder, "earlier.plan", "./new");
    assert!(
        line.starts_with("4 functions: 1 unchanged, 3 gone; "),
        "{line}"
    );

    // The plan of another program is refused.
    let other = "int main(void) { return 0; }";
    build(folder, "other", other);
    let words = [
        "plan", "apply", "-o", "none", "--plan", "old.plan", "./other",
    ];
    let output = holloway(folder, &words);
    assert!(!output.status.success());
    let message = "the plan has no function of ./other";
    assert!(output.stderr.contains(message), "{}", output.stderr);
}

#[test]
fn lines_that_fit_nothing_give_one_warning_of_each_sort() {
    let scratch = scratch("old-plans-marks").unwrap();
    let folder = scratch.path();
    build(folder, "app", OLD);
    let train = holloway(folder, &["plan", "train", "-o", "app.plan", "./app"]);
    assert!(train.status.success(), "{}", train.stderr);
    let plan = std::fs::read_to_string(folder.join("app.plan")).unwrap();
    // The edge into the loop of `weigh` comes after no condition, and does not follow itself. The
    // program has no indirect call, and no memory operation of unknown size.
    let lines = [
        "target 7 5 puts",
        "size 9 5 8",
        "size 9 5 16",
        "unpredictable 0 5",
        "tail 5 0-0",
    ];
    let edited = plan.replacen(" weigh\n", &format!(" weigh\n{}\n", lines.join("\n")), 1);
    let edited = edited.replace("end\n", "prefetches\nload 4000 0 8 main\nend\n");
    std::fs::write(folder.join("edited.plan"), edited).unwrap();
    let apply = |plan| {
        let words = ["plan", "apply", "-o", "fast", "--plan", plan, "./app"];
        holloway(folder, &words)
    };
    let output = apply("edited.plan");
    assert!(output.status.success(), "{}", output.stderr);
    let lines = output.stderr.lines();
    let lines: Vec<&str> = lines.filter(|line| line.contains("warning")).collect();
    let expect = [
        "edited.plan: a line `load` of main has no effect, because no code that is counted has line 4000: remove the line",
        "edited.plan: a line `size` of weigh has no effect, because the function has no memory operation 9 of unknown size: remove all 2 such lines",
        "edited.plan: a line `tail` of weigh has no effect, because the edges 0-0 do not follow one another: remove the line",
        "edited.plan: a line `target` of weigh has no effect, because the function has no indirect call 7: remove the line",
        "edited.plan: a line `unpredictable` of weigh has no effect, because edge 0 is no outcome of a condition: remove the line",
    ];
    assert_eq!(lines.len(), expect.len(), "{lines:#?}");
    for (line, expect) in lines.iter().zip(expect) {
        assert!(line.contains(expect), "{expect:?} is missing in: {line}");
    }
    let output = apply(".");
    let message = "cannot read .: it is a directory; name a file that `holloway plan train` wrote";
    assert!(output.stderr.contains(message), "{}", output.stderr);
}
