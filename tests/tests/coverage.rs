//! Tests `holloway coverage` on programs: conditions and their counts equal those of clang's own
//! MC/DC, in programs of random expressions, too; tests are covered one by one.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use holloway_tests::tool::{
    Output, cargo_holloway, clean, holloway_command, installed, run, run_ok, scratch,
};
use serde_json::Value;

/// Decisions of each sort: in an `if`, in loops, as values, in arguments, in a ternary, nested.
const DECISIONS: &str = r#"
#include <stdio.h>
#include <stdlib.h>

static int vowel(int c) {
    return c == 'a' || c == 'e' || c == 'i' || c == 'o' || c == 'u';
}

static int classify(const char *word, int strict, int limit) {
    int length = 0, vowels = 0;
    while (word[length] && (length < limit || !strict)) {
        if (vowel(word[length]))
            vowels++;
        length++;
    }
    if ((length > 3 && vowels > 1) || (strict && length > 5))
        return 2;
    if (length == 0)
        return -1;
    if (length > 1) {
        if (vowels == 0)
            return 0;
    }
    int odd = length > 2 && length % 2 == 1;
    do {
        length -= 2;
    } while (length > 0 && !odd);
    return odd && vowels ? abs(strict || length < 0) : 3;
}

int main(int count, char **words) {
    int sum = 0;
    for (int i = 1; i < count && sum < 100; i++) {
        int class = classify(words[i], i % 2, 4);
        if (class < 0 || (class == 0 && i > 2)) {
            printf("bad %s\n", words[i]);
            continue;
        }
        sum += class;
    }
    printf("%d\n", sum);
    return 0;
}
"#;

const WORDS: [&[&str]; 2] = [&["table", "x", "sky", "queue", "ii", ""], &["audio", "by"]];

/// A decision: its line, whether each condition acts by itself, and how often each held and failed.
type Measured = (u64, Vec<bool>, Vec<[u64; 2]>);

fn holloway(folder: &Path, words: &[&str]) -> Output {
    let mut command = holloway_command(words);
    run_ok(command.current_dir(folder)).unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

/// Builds a program, runs it with each list of arguments, and returns the coverage of all runs.
fn coverage(folder: &Path, options: &[&str], arguments: &[&[&str]]) -> Value {
    let mut words = vec!["cc", "--graph", "source", "-g", "app.c", "-o", "app"];
    words.extend(options);
    holloway(folder, &words);
    let mut runs = Vec::new();
    for (number, arguments) in arguments.iter().enumerate() {
        let run = format!("run-{}-{number}", options.join("").replace('=', ""));
        let mut words = vec!["run", "--no-report", "-o", &run, "--", "./app"];
        words.extend(*arguments);
        holloway(folder, &words);
        runs.push(run);
    }
    let mut words = vec!["coverage", "--format", "json"];
    words.extend(runs.iter().map(String::as_str));
    json(&holloway(folder, &words))["coverage"].take()
}

/// The decisions in a coverage.
fn ours(coverage: &Value) -> Vec<Measured> {
    let decisions = coverage["decisions"].as_array().unwrap().iter();
    let mut decisions: Vec<Measured> = decisions
        .map(|decision| {
            assert_eq!(decision["measured"], true, "{decision}");
            let conditions = decision["conditions"].as_array().unwrap();
            let covered = conditions
                .iter()
                .map(|condition| condition["covered"] == true);
            let counts = conditions.iter();
            let counts =
                counts.map(|condition| [&condition["held"], &condition["failed"]].map(number));
            let line = number(&conditions[0]["line"]);
            (line, covered.collect(), counts.map(sorted).collect())
        })
        .collect();
    decisions.sort();
    decisions
}

/// The two counts of a condition. `!a` and `a` are one condition for us, and two for clang.
fn sorted(mut counts: [u64; 2]) -> [u64; 2] {
    counts.sort_unstable();
    counts
}

/// The decisions that clang's own coverage reports for the same runs.
fn clangs(folder: &Path, arguments: &[&[&str]]) -> Vec<Measured> {
    let mut clang = Command::new(installed("clang-22").unwrap());
    clang.args([
        "-O0",
        "-fprofile-instr-generate",
        "-fcoverage-mapping",
        "-fcoverage-mcdc",
    ]);
    clang.args(["app.c", "-o", "peer"]).current_dir(folder);
    clean(&mut clang);
    run_ok(&mut clang).unwrap();
    let mut merge = Command::new(installed("llvm-profdata-22").unwrap());
    merge
        .args(["merge", "-o", "peer.profdata"])
        .current_dir(folder);
    for (number, arguments) in arguments.iter().enumerate() {
        let file = format!("peer-{number}.profraw");
        let mut peer = Command::new(folder.join("peer"));
        peer.args(*arguments)
            .current_dir(folder)
            .env("LLVM_PROFILE_FILE", &file);
        run_ok(&mut peer).unwrap();
        merge.arg(file);
    }
    run_ok(&mut merge).unwrap();
    let mut export = Command::new(installed("llvm-cov-22").unwrap());
    export
        .args(["export", "peer", "-instr-profile=peer.profdata"])
        .current_dir(folder);
    let exported = json(&run_ok(&mut export).unwrap());
    let mut decisions = Vec::new();
    for function in exported["data"][0]["functions"].as_array().unwrap() {
        // Line, column, end, end, times true, times false.
        let branches: Vec<Vec<u64>> = function["branches"]
            .as_array()
            .unwrap()
            .iter()
            .map(|branch| branch.as_array().unwrap()[..6].iter().map(number).collect())
            .collect();
        for record in function["mcdc_records"].as_array().unwrap() {
            let place: Vec<u64> = (0..4).map(|index| number(&record[index])).collect();
            let covered = record
                .as_array()
                .unwrap()
                .iter()
                .find_map(Value::as_array)
                .unwrap();
            let covered: Vec<bool> = covered.iter().map(|covered| *covered == true).collect();
            let is_inside = |branch: &&Vec<u64>| {
                (branch[0], branch[1]) >= (place[0], place[1])
                    && (branch[2], branch[3]) <= (place[2], place[3])
            };
            let conditions = branches.iter().filter(is_inside);
            let mut conditions: Vec<&Vec<u64>> = conditions.collect();
            conditions.sort();
            let counts: Vec<[u64; 2]> = conditions
                .iter()
                .map(|branch| sorted([branch[4], branch[5]]))
                .collect();
            assert_eq!(counts.len(), covered.len(), "{record}");
            decisions.push((place[0], covered, counts));
        }
    }
    decisions.sort();
    decisions
}

#[test]
fn conditions_equal_those_of_clang() {
    let folder = scratch("mcdc").unwrap();
    std::fs::write(folder.path().join("app.c"), DECISIONS).unwrap();
    let expected = clangs(folder.path(), &WORDS);
    assert_eq!(expected.len(), 9);
    for options in [
        &["-O0"][..],
        &["-O2"],
        &["-O2", "--exits", "off"],
        &["-O3", "--collect=loops"],
        &["-O1", "--collect=trace"],
    ] {
        let coverage = coverage(folder.path(), options, &WORDS);
        assert_eq!(ours(&coverage), expected, "{options:?}");
        let totals = &coverage["totals"]["conditions"];
        let covered = expected.iter().flat_map(|(_, covered, _)| covered);
        let covered: Vec<bool> = covered.copied().collect();
        assert_eq!(number(&totals["possible"]), covered.len() as u64);
        let count = covered.iter().filter(|covered| **covered).count();
        assert_eq!(number(&totals["covered"]), count as u64);
    }
}

/// Pseudo-random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    /// An expression of bits of `x`, each of which occurs once. Only conditions and the whole are
    /// negated: clang 22 takes the outcome of `a || !(b && c)` for that of `a || (b && c)`.
    fn expression(&mut self, bits: std::ops::Range<u64>) -> String {
        let count = bits.end - bits.start;
        if count == 1 {
            let bit = bits.start;
            return match self.below(4) {
                0 => format!("!(x & {})", 1 << bit),
                1 => format!("bit(x, {bit})"),
                2 => format!("(x >> {bit}) % 2 == 1"),
                _ => format!("(x & {}) != 0", 1 << bit),
            };
        }
        let middle = bits.start + 1 + self.below(count - 1);
        let left = self.expression(bits.start..middle);
        let right = self.expression(middle..bits.end);
        let operator = ["&&", "||"][self.below(2) as usize];
        format!("({left} {operator} {right})")
    }
}

/// A program whose functions evaluate random expressions in each way.
fn random_program(seed: u64) -> String {
    let mut random = Random(seed);
    let mut text = "#include <stdio.h>\n#include <stdlib.h>\nstatic int bit(unsigned x, int n) { return x >> n & 1; }\n".to_owned();
    let mut calls = String::new();
    for function in 0..24 {
        let bits = 2 + random.below(5);
        let expression = random.expression(0..bits);
        let expression = match random.below(4) {
            0 => format!("!{expression}"),
            _ => expression,
        };
        let body = match random.below(6) {
            0 => format!("if ({expression}) return 7; return 1;"),
            1 => format!("return {expression};"),
            2 => format!("int r = {expression};\n    return r + 3;"),
            3 => format!(
                "int n = 0; while ({expression}) {{ x = x * 5 + 1; if (++n > 9) break; }} return n;"
            ),
            4 => format!(
                "int n = 0; do {{ x = x * 3 + 1; if (++n > 9) break; }} while ({expression}); return n;"
            ),
            _ => format!("int n = 0; for (; {expression}; x += 3) if (++n > 9) break; return n;"),
        };
        writeln!(
            text,
            "static int f{function}(unsigned x) {{\n    {body}\n}}"
        )
        .unwrap();
        write!(calls, "sum += f{function}(x); ").unwrap();
    }
    writeln!(
        text,
        "int main(int count, char **words) {{\n    int sum = 0;\n    for (int i = 1; i < count; i++) {{ unsigned x = atoi(words[i]); {calls}}}\n    printf(\"%d\\n\", sum);\n    return 0;\n}}"
    )
    .unwrap();
    text
}

#[test]
fn conditions_of_random_expressions_equal_those_of_clang() {
    for seed in [1, 2, 3] {
        let folder = scratch("mcdc-random").unwrap();
        let source = random_program(seed);
        std::fs::write(folder.path().join("app.c"), &source).unwrap();
        let arguments: [&[&str]; 2] = [&["1", "6", "11", "21"], &["40", "63"]];
        let expected = clangs(folder.path(), &arguments);
        assert!(expected.len() >= 20, "{}", expected.len());
        let any = |wanted: bool| {
            let mut covered = expected.iter().flat_map(|(_, covered, _)| covered);
            covered.any(|covered| *covered == wanted)
        };
        assert!(any(true) && any(false));
        for options in [&["-O0"][..], &["-O2"]] {
            let coverage = coverage(folder.path(), options, &arguments);
            assert_eq!(ours(&coverage), expected, "{seed} {options:?}\n{source}");
        }
    }
}

const RUST: &str = r#"
#[derive(Debug, PartialEq)]
pub enum Kind { Word, Number(u32), Empty }

pub fn kind(text: &str) -> Kind {
    if text.is_empty() { return Kind::Empty; }
    match text.parse() {
        Ok(number) => Kind::Number(number),
        Err(_) => Kind::Word,
    }
}

pub fn accept(a: u32, b: u32, strict: bool) -> bool {
    (a + 1 > 3 && b < 10) || (strict && a * b == 0)
}

pub fn sum(words: &[&str]) -> u32 {
    let mut sum = 0;
    for (index, word) in words.iter().enumerate() {
        let kind = kind(word);
        if index > 5 { continue; }
        if word.len() > 8 { continue; }
        if matches!(kind, Kind::Number(n) if n > 2 && n < 9) {
            sum += 1;
        }
        if let Kind::Number(n) = kind && n % 2 == 0 && accept(n, index as u32, word.len() > 1) {
            sum += n;
        }
        let flag = word.starts_with('a') && !word.ends_with('z');
        if index > 0 {
            if flag { sum += 3; }
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn empty() { assert_eq!(kind(""), Kind::Empty); }
    #[test]
    fn strict() { assert!(accept(0, 1, true)); assert!(!accept(1, 1, true)); }
    #[test]
    fn lax() { assert!(accept(5, 1, false)); assert!(!accept(5, 11, false)); }
    #[test]
    fn strict_again() { assert!(accept(0, 1, true)); }
    #[test]
    fn numbers() { assert_eq!(sum(&["3", "4", "abc"]), 9); }
    #[test]
    #[ignore = "never runs"]
    fn ignored() { panic!() }
}
"#;

#[test]
fn tests_of_a_rust_crate_are_covered_one_by_one() {
    let folder = scratch("per-test").unwrap();
    let folder = folder.path();
    std::fs::create_dir(folder.join("src")).unwrap();
    std::fs::write(folder.join("src/lib.rs"), RUST).unwrap();
    let manifest = "[package]\nname = \"app\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[lib]\ndoctest = false\n[workspace]\n";
    std::fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    let words = [
        "test",
        "--graph",
        "source",
        "--per-test",
        "--no-report",
        "-o",
        "run",
    ];
    let mut command = cargo_holloway(words);
    let output = run(command.current_dir(folder)).unwrap();
    assert!(output.succeeded(), "{}", output.stderr);
    let text = output.text();
    for test in ["empty", "strict", "lax", "strict_again", "numbers"] {
        assert!(
            text.contains(&format!("test tests::{test} ... ok\n")),
            "{text}"
        );
    }
    assert!(!text.contains("ignored"), "{text}");

    let tests = |words: &[&str]| {
        let mut all = vec!["coverage", "run", "--tests", "--format", "json"];
        all.extend(words);
        json(&holloway(folder, &all))["tests"].take()
    };
    let paths = tests(&[]);
    let smallest = |tests: &Value| {
        let set = &tests["smallest_set"];
        assert_eq!(set["proven"], true);
        let names = set["tests"].as_array().unwrap().iter();
        let names = names.map(|name| name.as_str().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    // `strict_again` runs a path that `strict` runs, too.
    let expected = ["empty", "lax", "numbers", "strict"].map(|test| format!("app: tests::{test}"));
    assert_eq!(smallest(&paths), expected);
    let line = 1 + RUST
        .lines()
        .position(|line| line.contains("sum += 1;"))
        .unwrap();
    let asked = tests(&["--line", &format!("src/lib.rs:{line}")]);
    let asked: Vec<(&str, u64)> = asked["asked"]["tests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|test| (test["name"].as_str().unwrap(), number(&test["executions"])))
        .collect();
    assert_eq!(asked, [("app: tests::numbers", 2)]);
    let no_code = run(
        holloway_command(["coverage", "run", "--tests", "--line", "src/lib.rs:999"])
            .current_dir(folder),
    )
    .unwrap();
    assert_eq!(no_code.status.code(), Some(2));
    assert!(
        no_code.stderr.contains("src/lib.rs:999 has no code"),
        "{}",
        no_code.stderr
    );

    check_rust_conditions(folder);
}

/// The decisions are those of the source: two `if`s in a row, and nested ones, are none.
fn check_rust_conditions(folder: &Path) {
    let coverage = json(&holloway(folder, &["coverage", "run", "--format", "json"]));
    let coverage = &coverage["coverage"];
    let line = |text: &str| 1 + RUST.lines().position(|line| line.contains(text)).unwrap() as u64;
    let decisions: BTreeMap<u64, Vec<bool>> = ours(coverage)
        .into_iter()
        .map(|(line, covered, _)| (line, covered))
        .collect();
    let expected = [
        (line("(a + 1 > 3"), vec![true, true, false, true]),
        (line("matches!"), vec![true, false, false]),
        (line("if let"), vec![true, true, false]),
        (line("let flag"), vec![true, false]),
    ];
    // The third condition of `accept` was true and false, but its pair differs in the fourth.
    assert_eq!(decisions, BTreeMap::from(expected.clone()), "{coverage}");
    let accept = coverage["functions"]
        .as_array()
        .unwrap()
        .iter()
        .find(|function| function["name"] == "app::accept")
        .unwrap();
    let missing = &accept["missing_paths"][0];
    assert_eq!(missing["nearest"]["distance"], 1, "{accept}");
    assert_eq!(missing["nearest"]["departures"][0]["line"], expected[0].0);
}
