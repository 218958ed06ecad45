//! Tests `holloway optimize` and `holloway plan`: what plans contain, what becomes of the code, and
//! that bad input gives one line. `plans` tests that programs with any plan do the same.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use holloway_tests::files::copy_tree;
use holloway_tests::tool::{
    Output, cargo_holloway, clean, holloway_command, installed, run, run_ok, scratch,
    tests_directory,
};
use serde_json::Value;

/// Exit status of holloway's own errors.
const OWN_ERROR: i32 = 125;

/// Prints a checksum. The argument chooses the inputs, so another argument takes other branches.
const SOURCE: &str = "\
#include <stdio.h>
#include <stdlib.h>
static int even(int n) { return n * 3 + 1; }
static int odd(int n) { return n / 2; }
int main(int count, char **words) {
  int start = count > 1 ? atoi(words[1]) : 1;
  unsigned long sum = 0;
  for (int i = start; i < start + 200000; i++)
    for (int n = i & 1023; n > 1; n = n & 1 ? even(n) : odd(n))
      sum += n;
  printf(\"%lu\\n\", sum);
  return start == 99;
}
";

fn cc(folder: &Path, source: &Path, options: &[&str], program: &str) -> PathBuf {
    let is_cpp = source.extension().is_some_and(|e| e == "cpp");
    let (verb, clang) = match is_cpp {
        true => ("c++", "clang++-22"),
        false => ("cc", "clang-22"),
    };
    let mut command = match options.contains(&"--embed") {
        true => holloway_command([verb]),
        false => Command::new(installed(clang).unwrap()),
    };
    clean(&mut command);
    let include = tests_directory().join("programs/include");
    command
        .env("HOLLOWAY_CLANG", installed(clang).unwrap())
        .current_dir(folder)
        .args(options)
        .args(["-O2", "-w", "-I"])
        .arg(include)
        .arg(source)
        .args(["-o", program, "-lpthread", "-lm"]);
    run_ok(&mut command).unwrap();
    folder.join(program)
}

/// Writes [`SOURCE`] and builds it.
fn app(folder: &Path, options: &[&str]) -> PathBuf {
    let source = folder.join("app.c");
    std::fs::write(&source, SOURCE).unwrap();
    cc(folder, &source, options, "app")
}

fn holloway(folder: &Path, words: &[&str]) -> Command {
    let mut command = holloway_command(words);
    command.current_dir(folder);
    command
}

fn start(program: &Path) -> Output {
    run(&mut Command::new(program)).unwrap()
}

#[test]
fn a_program_is_trained_measured_and_written() {
    let scratch = scratch("optimize-app").unwrap();
    let folder = scratch.path();
    let app = app(folder, &["--embed"]);
    let words = [
        "optimize",
        "-o",
        "fast",
        "--pairs",
        "2",
        "--format",
        "json",
        "--write-plan",
        "app.plan",
        "./app",
        "--",
        "7",
    ];
    let output = run_ok(&mut holloway(folder, &words)).unwrap();
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["schema"], 1);
    for key in ["gain_percent", "low", "high", "noise_percent"] {
        assert!(json[key].is_number(), "{json}");
    }
    let steps = [&json["kept"], &json["dropped"]].map(|list| list.as_array().unwrap().len());
    let expected = 1 + usize::from(json["late"].is_object());
    assert_eq!(steps.iter().sum::<usize>(), expected, "{json}");
    assert!(json["late_functions"].as_u64().unwrap() >= 1, "{json}");
    assert!(json["planned_functions"].as_u64().unwrap() >= 1, "{json}");
    let expected = start(&app);
    assert_eq!(start(&folder.join("fast")).text(), expected.text());
    // The plan names what ran, and the sum of two plans is a plan.
    let shown = run_ok(&mut holloway(folder, &["plan", "show", "app.plan"])).unwrap();
    assert!(shown.text().contains("main"), "{}", shown.text());
    let words = ["plan", "train", "-o", "other.plan", "./app", "--", "5000"];
    run_ok(&mut holloway(folder, &words)).unwrap();
    let words = ["plan", "diff", "app.plan", "other.plan"];
    let diff = run_ok(&mut holloway(folder, &words)).unwrap();
    assert!(diff.text().contains("differ"), "{}", diff.text());
    let words = [
        "plan",
        "apply",
        "-o",
        "both",
        "--plan",
        "app.plan",
        "--plan",
        "other.plan",
        "./app",
    ];
    run_ok(&mut holloway(folder, &words)).unwrap();
    assert_eq!(start(&folder.join("both")).text(), expected.text());
}

#[test]
fn the_recipe_survives_copying_and_stripping_and_needs_no_source() {
    let scratch = scratch("optimize-recipe").unwrap();
    let folder = scratch.path();
    let built = folder.join("built");
    std::fs::create_dir(&built).unwrap();
    let app = app(&built, &["--embed"]);
    let copy = folder.join("copy");
    std::fs::copy(&app, &copy).unwrap();
    run_ok(Command::new("strip").arg("--strip-all").arg(&copy)).unwrap();
    let expected = start(&app).text();
    std::fs::remove_dir_all(&built).unwrap();
    let words = ["plan", "train", "-o", "copy.plan", "./copy"];
    run_ok(&mut holloway(folder, &words)).unwrap();
    let words = [
        "plan",
        "apply",
        "-o",
        "fast",
        "--plan",
        "copy.plan",
        "./copy",
    ];
    run_ok(&mut holloway(folder, &words)).unwrap();
    assert_eq!(start(&folder.join("fast")).text(), expected);
}

/// The version script and the directory of the library are relative to the directory of the link.
/// The script is gone when the program is linked again in another directory.
#[test]
fn the_recipe_carries_scripts_and_finds_libraries() {
    let scratch = scratch("optimize-scripts").unwrap();
    let folder = scratch.path();
    let built = folder.join("built");
    std::fs::create_dir_all(built.join("lib")).unwrap();
    std::fs::write(
        built.join("twice.c"),
        "int twice(int n) { return n * 2; }\n",
    )
    .unwrap();
    let words = ["-shared", "-fPIC"];
    cc(&built, &built.join("twice.c"), &words, "lib/libtwice.so");
    let script = "{ global: visible; main; local: *; };\n";
    std::fs::write(built.join("visible.map"), script).unwrap();
    let source = built.join("app.c");
    let text = "#include <stdio.h>\nint twice(int);\nint visible(int n) { return twice(n) + 1; }\n\
                int hidden(int n) { return n & 1 ? n * 3 : visible(n); }\n\
                int main(void) { long sum = 0; for (int i = 0; i < 9999; i++) sum += hidden(i); printf(\"%ld\\n\", sum); }\n";
    std::fs::write(&source, text).unwrap();
    let run_path = format!("-Wl,-rpath,{}", built.join("lib").display());
    let words = [
        "--embed",
        "-rdynamic",
        "-Wl,--version-script=visible.map",
        "-L",
        "lib",
        "-ltwice",
        &run_path,
    ];
    let app = cc(&built, &source, &words, "app");
    let expected = start(&app).text();
    std::fs::remove_file(built.join("visible.map")).unwrap();
    let train = ["plan", "train", "-o", "app.plan", "built/app"];
    run_ok(&mut holloway(folder, &train)).unwrap();
    let apply = [
        "plan",
        "apply",
        "-o",
        "fast",
        "--plan",
        "app.plan",
        "built/app",
    ];
    run_ok(&mut holloway(folder, &apply)).unwrap();
    let fast = folder.join("fast");
    assert_eq!(start(&fast).text(), expected);
    let symbols = run_ok(Command::new("nm").arg("--dynamic").arg(&fast)).unwrap();
    let symbols = symbols.text();
    assert!(symbols.contains(" T visible"), "{symbols}");
    assert!(!symbols.contains(" T hidden"), "{symbols}");
}

#[test]
fn a_cargo_project_is_optimized() {
    let scratch = scratch("optimize-cargo").unwrap();
    let folder = scratch.path();
    copy_tree(&tests_directory().join("programs/rust_fact"), folder).unwrap();
    let manifest = folder.join("Cargo.toml");
    if !manifest.exists() {
        std::fs::create_dir_all(folder.join("src")).unwrap();
        std::fs::rename(folder.join("main.rs"), folder.join("src/main.rs")).unwrap();
        let text =
            "[package]\nname = \"app\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n";
        std::fs::write(&manifest, text).unwrap();
        std::fs::write(
            folder.join("src/main.rs"),
            "fn main() {\n    let sum: u64 = (0..3_000_000u64).filter(|n| n % 3 != 0).map(|n| n ^ (n >> 3)).sum();\n    println!(\"{sum}\");\n}\n",
        )
        .unwrap();
    }
    let mut command = cargo_holloway([
        "optimize",
        "--release",
        "--pairs",
        "1",
        "--format",
        "json",
        "-o",
        "fast",
    ]);
    let output = run_ok(command.current_dir(folder)).unwrap();
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(json["planned_functions"].as_u64().unwrap() >= 1, "{json}");
    let mut plain = Command::new("cargo");
    clean(&mut plain);
    let expected = run_ok(
        plain
            .args(["run", "--release", "--quiet"])
            .current_dir(folder),
    )
    .unwrap();
    assert_eq!(start(&folder.join("fast")).text(), expected.text());
}

/// Builds the binary search of tests/workloads/selects.
fn search(folder: &Path) -> PathBuf {
    let source = tests_directory().join("workloads/selects/search.c");
    cc(folder, &source, &["--embed"], "search")
}

/// Random keys, and eight keys in turn.
const KEYS: [[&str; 2]; 2] = [["random", "60000"], ["turn", "60000"]];

/// The instructions of a function, as `objdump` writes them.
fn disassembly(program: &Path, function: &str) -> String {
    let mut objdump = Command::new("objdump");
    objdump
        .args(["-d", "--no-show-raw-insn"])
        .arg(format!("--disassemble={function}"))
        .arg(program);
    run_ok(&mut objdump).unwrap().text()
}

#[test]
fn a_branch_becomes_a_select_if_the_paths_before_it_do_not_tell_its_outcome() {
    let scratch = scratch("optimize-selects").unwrap();
    let folder = scratch.path();
    let program = search(folder);
    for (args, marks) in KEYS.into_iter().zip([1, 0]) {
        let name = args[0];
        let plan = format!("{name}.plan");
        let words = ["plan", "train", "-o", &plan, "./search", "--"];
        run_ok(holloway(folder, &words).args(args)).unwrap();
        let text = std::fs::read_to_string(folder.join(&plan)).unwrap();
        let functions = text.split("function ").skip(1);
        let marked = functions.filter(|function| function.contains("\nunpredictable "));
        let marked: Vec<&str> = marked
            .map(|function| function.lines().next().unwrap())
            .collect();
        assert_eq!(marked.len(), marks, "{name}: {text}");
        assert!(marked.iter().all(|line| line.ends_with(" find")), "{text}");
        let shown = run_ok(&mut holloway(folder, &["plan", "show", &plan])).unwrap();
        let summary = match marks {
            1 => "1 unpredictable branch,",
            _ => "0 unpredictable branches,",
        };
        assert!(shown.text().contains(summary), "{}", shown.text());
        let words = ["plan", "apply", "-o", name, "--plan", &plan, "./search"];
        run_ok(&mut holloway(folder, &words)).unwrap();
        let code = disassembly(&folder.join(name), "find");
        assert_eq!(code.contains("cmov"), marks == 1, "{name}: {code}");
        for args in KEYS {
            let [expected, optimized] = [&program, &folder.join(name)]
                .map(|program| run_ok(Command::new(program).args(args)).unwrap().text());
            assert_eq!(optimized, expected, "{name} {args:?}");
        }
    }
    let words = ["plan", "diff", "random.plan", "turn.plan"];
    let diff = run_ok(&mut holloway(folder, &words)).unwrap().text();
    assert!(
        diff.contains("find  (unpredictable branches: 1 -> 0)"),
        "{diff}"
    );
}

/// The number of files below a folder that contain these bytes.
fn files_with(folder: &Path, bytes: &[u8]) -> usize {
    let entries = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let count = |path: PathBuf| match path.is_dir() {
        true => files_with(&path, bytes),
        false => {
            let content = std::fs::read(&path).unwrap();
            usize::from(content.windows(bytes.len()).any(|window| window == bytes))
        }
    };
    entries.map(count).sum()
}

/// Builds `search` of two modules. One has `find`, and the other one `not_called`.
fn two_modules(folder: &Path) {
    let other = folder.join("other.c");
    std::fs::write(
        &other,
        "int not_called(int n) { return n > 3 ? n * 5 : n; }\n",
    )
    .unwrap();
    let source = tests_directory().join("workloads/selects/search.c");
    let options = ["--embed", other.to_str().unwrap()];
    cc(folder, &source, &options, "search");
}

#[test]
fn training_weaves_no_module_in_which_nothing_records() {
    let scratch = scratch("optimize-modules").unwrap();
    let folder = scratch.path();
    two_modules(folder);
    let words = ["plan", "train", "-o", "plan", "./search", "--"];
    let mut train = holloway(folder, &words);
    let cache = folder.join("cache");
    let output = run_ok(train.args(KEYS[0]).env("HOLLOWAY_CACHE", &cache)).unwrap();
    assert!(
        output.stderr.contains("for the order of its branches"),
        "{}",
        output.stderr
    );
    // With counters before the optimizer, with counters after it, and without any for the
    // sequences. Also as the optimizer's bitcode, from which the counters after it are added.
    assert_eq!(files_with(&cache, b"not_called"), 4);
    assert!(files_with(&cache, b"find") > 4);
}

#[test]
fn builds_share_what_the_optimizer_makes() {
    let scratch = scratch("optimize-shared").unwrap();
    let folder = scratch.path();
    two_modules(folder);
    let cache = folder.join("cache");
    let run = |words: &[&str]| {
        let mut command = holloway(folder, words);
        run_ok(command.env("HOLLOWAY_CACHE", &cache)).unwrap();
        // The entries with optimized code, and the woven modules.
        [&b"HLWOPTIM"[..], b"HLWCACHE"].map(|magic| files_with(&cache, magic))
    };
    let train = ["plan", "train", "-o", "plan", "./search", "--"];
    let [optimized, trained] = run(&[&train[..], &KEYS[0]].concat());
    assert_eq!(optimized, 2);
    let apply = |plan| {
        let program = format!("{plan}.program");
        run(&["plan", "apply", "-o", &program, "--plan", plan, "./search"])
    };
    // Both modules are compiled, but the optimizer has run already.
    assert_eq!(apply("plan"), [2, trained + 2]);
    // Another plan for one function compiles this function's module.
    let text = std::fs::read_to_string(folder.join("plan")).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    let length = lines.len();
    lines.retain(|line| !line.starts_with("unpredictable "));
    assert!(lines.len() < length);
    std::fs::write(folder.join("edited"), lines.join("\n")).unwrap();
    assert_eq!(apply("edited"), [3, trained + 3]);
    let programs = ["plan.program", "edited.program"];
    let [marked, edited] = programs.map(|name| disassembly(&folder.join(name), "find"));
    assert!(
        marked.contains("cmov") && !edited.contains("cmov"),
        "{edited}"
    );
}

/// A name that is no UTF-8 is known with U+FFFD, which the bitcode does not contain.
#[test]
fn a_module_is_compiled_again_for_a_name_that_is_no_text() {
    let scratch = scratch("optimize-bytes").unwrap();
    let folder = scratch.path();
    let label = "int d(int) __asm__(\"bad\\377name\");\n";
    let body = "for (int i = 0; i < x % 11; i++) { if ((i + x) % 3) s += x * i; else s ^= i + x; }";
    let callee = format!(
        "{label}__attribute__((noinline)) int d(int x) {{ int s = 0; {body} return s; }}\n"
    );
    let main = format!(
        "#include <stdio.h>\n{label}int main(void) {{ long t = 0; \
         for (int i = 0; i < 20000; i++) t += d(i); printf(\"%ld\\n\", t); }}\n"
    );
    for (file, text) in [("d.c", callee), ("main.c", main)] {
        std::fs::write(folder.join(file), text).unwrap();
    }
    let other = folder.join("d.c");
    let options = ["--embed", other.to_str().unwrap()];
    cc(folder, &folder.join("main.c"), &options, "app");
    let cache = folder.join("cache");
    let run = |words: &[&str], cache: &Path| {
        run_ok(holloway(folder, words).env("HOLLOWAY_CACHE", cache)).unwrap();
    };
    run(&["plan", "train", "-o", "plan", "./app"], &cache);
    let text = std::fs::read_to_string(folder.join("plan")).unwrap();
    // The early counts of the function, and the same counts the other way around: the summary of
    // all counts stays the same.
    let early = text.split("late\n").next().unwrap();
    let (before, function) = early.split_once(" bad\u{fffd}name\n").unwrap();
    let (function, after) = match function.split_once("\nfunction ") {
        Some((function, after)) => (function, format!("function {after}")),
        None => (function, String::new()),
    };
    let is_count = |line: &&str| line.starts_with(|c: char| c.is_ascii_digit());
    let counts: Vec<&str> = function.lines().filter(is_count).collect();
    let edges = counts.iter().map(|line| line.split(' ').next().unwrap());
    let reversed = counts
        .iter()
        .rev()
        .map(|line| line.split(' ').nth(1).unwrap());
    let reversed: Vec<String> = edges
        .zip(reversed)
        .map(|(edge, count)| format!("{edge} {count}"))
        .collect();
    let plan = |counts: &str| format!("{before} bad\u{fffd}name\n{counts}\n{after}end\n");
    let plans = [
        ("one", plan(&counts.join("\n"))),
        ("other", plan(&reversed.join("\n"))),
    ];
    for (name, text) in &plans {
        std::fs::write(folder.join(name), text).unwrap();
        let output = format!("{name}.cached");
        run(
            &["plan", "apply", "-o", &output, "--plan", name, "./app"],
            &cache,
        );
    }
    let words = [
        "plan",
        "apply",
        "-o",
        "other.alone",
        "--plan",
        "other",
        "./app",
    ];
    run(&words, Path::new(""));
    let [one, other, alone] = ["one.cached", "other.cached", "other.alone"]
        .map(|name| std::fs::read(folder.join(name)).unwrap());
    assert!(other == alone && one != other);
}

/// LLVM makes a copy of `find` for each function that it is called with, before the probes.
#[test]
fn copies_of_functions_record_too() {
    let rare: String = (1..=60)
        .map(|n| format!("if (k == {}) r = r * {} + f(r + {n});\n", n + 5000, n + 2))
        .collect();
    let find = format!(
        "typedef int (*op)(int);
static int __attribute__((noinline)) find(const int *a, int n, unsigned s, int rounds, op f) {{
  int r = 0;
  for (int i = 0; i < rounds; i++) {{
    s = s * 1664525u + 1013904223u;
    int k = (s >> 8) % n, low = 0, high = n;
    while (low < high) {{
      int middle = (low + high) / 2;
      if (f(a[middle]) < k) low = middle + 1; else high = middle;
      {rare}
    }}
    r += low;
  }}
  return r;
}}
static int plus(int x) {{ return x + 1; }}
static int times(int x) {{ return x * 3 - 1; }}
int go(const int *a, int n, int rounds, int which) {{
  return which ? find(a, n, 1, rounds, plus) : find(a, n, 7, rounds, times);
}}
"
    );
    let main = "#include <stdio.h>
int go(const int *, int, int, int);
static int a[4096];
int main(void) {
  for (int i = 0; i < 4096; i++) a[i] = i;
  printf(\"%d %d\\n\", go(a, 4096, 60000, 0), go(a, 4096, 60000, 1));
}
";
    let scratch = scratch("optimize-copies").unwrap();
    let folder = scratch.path();
    std::fs::write(folder.join("find.c"), find).unwrap();
    std::fs::write(folder.join("main.c"), main).unwrap();
    cc(
        folder,
        &folder.join("main.c"),
        &["--embed", "find.c"],
        "app",
    );
    let words = ["plan", "train", "-o", "plan", "./app"];
    run_ok(&mut holloway(folder, &words)).unwrap();
    let plan = std::fs::read_to_string(folder.join("plan")).unwrap();
    let functions = plan.split("function ").skip(1);
    let marked = functions.filter(|function| function.contains("\nunpredictable "));
    let marked: Vec<&str> = marked
        .filter_map(|function| function.lines().next())
        .collect();
    let is_copy = |name: &&str| name.contains(" find.specialized.");
    assert!(
        !marked.is_empty() && marked.iter().all(is_copy),
        "{marked:?}"
    );
}

#[test]
fn the_selects_are_a_step_of_their_own() {
    let scratch = scratch("optimize-steps").unwrap();
    let folder = scratch.path();
    let program = search(folder);
    for (args, is_measured) in KEYS.into_iter().zip([true, false]) {
        let words = ["optimize", "-o", "fast", "--pairs", "1", "--format", "json"];
        let mut optimize = holloway(folder, &words);
        let output = run_ok(optimize.args(["./search", "--"]).args(args)).unwrap();
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        let steps = ["kept", "dropped"].map(|list| json[list].as_array().unwrap().clone());
        let has_selects = steps.concat().contains(&Value::from("selects"));
        assert_eq!(has_selects, is_measured, "{json}");
        assert_eq!(json["unpredictable_branches"], u64::from(is_measured));
        assert_eq!(json["selects"].is_object(), is_measured, "{json}");
        let [expected, optimized] = [&program, &folder.join("fast")]
            .map(|program| run_ok(Command::new(program).args(args)).unwrap().text());
        assert_eq!(optimized, expected);
    }
}

/// The plan makes selects of the branches of both searches, which is wrong for one of them.
#[test]
fn a_step_that_does_not_help_is_tried_without_one_function() {
    let scratch = scratch("optimize-blame").unwrap();
    let folder = scratch.path();
    let source = tests_directory().join("workloads/selects/both.c");
    let program = cc(folder, &source, &["--embed"], "both");
    let args = ["60000", "20000"];
    let words = ["plan", "train", "-o", "own.plan", "./both", "--"];
    run_ok(holloway(folder, &words).args(args)).unwrap();
    let text = std::fs::read_to_string(folder.join("own.plan")).unwrap();
    let (early, _) = text.split_once("\nlate\n").unwrap();
    let marked = |function: &str| match function.lines().next() {
        Some(line) if line.ends_with(" find_turn") => {
            format!("{}\nunpredictable 3 360000", function.trim_end())
        }
        _ => function.to_owned(),
    };
    let functions: Vec<String> = early.split("\nfunction ").map(marked).collect();
    let wrong = format!("{}\nend\n", functions.join("\nfunction "));
    std::fs::write(folder.join("wrong.plan"), wrong).unwrap();

    let words = ["optimize", "-o", "fast", "--pairs", "3", "--orders", "1"];
    let mut optimize = holloway(folder, &words);
    optimize.args(["--plan", "wrong.plan", "--format", "json", "./both", "--"]);
    let output = run_ok(optimize.args(args)).unwrap();
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["unpredictable_branches"], 2, "{json}");
    // Times decide whether selects help, and without which function.
    let list = |key: &str| json[key].as_array().unwrap().clone();
    let (kept, blamed) = (list("kept"), list("blamed"));
    for blamed in &blamed {
        assert!(kept.contains(&blamed["step"]), "{json}");
        assert!(blamed["low"].as_f64().unwrap() > 0.0, "{json}");
    }
    let code = |function| disassembly(&folder.join("fast"), function).contains("cmov");
    let selects = ["find_turn", "find_random"].map(code);
    let is_blamed = |function| blamed.iter().any(|blamed| blamed["function"] == function);
    let expected = match kept.contains(&Value::from("selects")) {
        true => ["find_turn", "find_random"].map(|function| !is_blamed(function)),
        false => [false, false],
    };
    assert_eq!(selects, expected, "{json}");
    let [expected, optimized] = [&program, &folder.join("fast")]
        .map(|program| run_ok(Command::new(program).args(args)).unwrap().text());
    assert_eq!(optimized, expected);
}

/// The branch at the join is decided by the way to it, and the loop has the period 2.
#[test]
fn copied_paths_are_a_step_of_their_own() {
    let scratch = scratch("optimize-paths").unwrap();
    let folder = scratch.path();
    for name in ["join", "period"] {
        let source = tests_directory().join(format!("workloads/tails/{name}.c"));
        let program = cc(folder, &source, &["--embed"], name);
        let program_argument = format!("./{name}");
        let optimize = |words: &[&str]| {
            let mut command = holloway(folder, &["optimize", "-o", "fast", "--pairs", "1"]);
            command
                .args(words)
                .args([&program_argument, "--", "2000000"]);
            run_ok(&mut command).unwrap()
        };
        let output = optimize(&["--paths", "--format", "json", "--write-plan", "paths.plan"]);
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        let steps = ["kept", "dropped"].map(|list| json[list].as_array().unwrap().clone());
        assert!(steps.concat().contains(&Value::from("paths")), "{json}");
        assert!(json["tails"].as_u64().unwrap() > 0, "{json}");
        assert!(json["paths"].is_object(), "{json}");
        let run = |program: &Path| run_ok(Command::new(program).arg("1000000")).unwrap();
        let expected = run(&program).text();
        assert_eq!(run(&folder.join("fast")).text(), expected);
        // Whether the step is kept depends on the machine. The plan copies in any case.
        let words = [
            "plan",
            "apply",
            "-o",
            "copied",
            "--plan",
            "paths.plan",
            &program_argument,
        ];
        run_ok(&mut holloway(folder, &words)).unwrap();
        assert_eq!(run(&folder.join("copied")).text(), expected);
        let text = optimize(&["--plan", "paths.plan"]).text();
        let gain = text.lines().filter(|line| line.starts_with("paths  "));
        let gain: Vec<&str> = gain.collect();
        // If the noise of the one pair has dropped the counts, the paths may change nothing.
        match gain[..] {
            [none] => assert!(
                none.contains("the compiler makes the same program"),
                "{text}"
            ),
            [saved, verdict] => {
                assert!(
                    saved.contains(" saved (95 %: ") && saved.contains(" path"),
                    "{text}"
                );
                let is_decided = verdict.contains("kept: ") || verdict.contains("dropped: ");
                assert!(is_decided, "{text}");
            }
            _ => panic!("{text}"),
        }
        let text = optimize(&[]).text();
        assert!(!text.contains("paths  "), "{text}");
    }
}

#[test]
fn paths_of_changed_code_are_left_out() {
    let scratch = scratch("optimize-changed-paths").unwrap();
    let folder = scratch.path();
    let source = tests_directory().join("workloads/tails/join.c");
    cc(folder, &source, &["--embed"], "join");
    let words = [
        "plan", "train", "--paths", "-o", "old.plan", "./join", "--", "100000",
    ];
    run_ok(&mut holloway(folder, &words)).unwrap();
    let plan = std::fs::read_to_string(folder.join("old.plan")).unwrap();
    assert!(plan.contains("\ntail "), "{plan}");
    let text = std::fs::read_to_string(source).unwrap();
    let changed = text.replace("log[5] * 31", "log[5] / 31");
    assert_ne!(changed, text);
    let source = folder.join("changed.c");
    std::fs::write(&source, changed).unwrap();
    let program = cc(folder, &source, &["--embed"], "changed");
    let words = [
        "plan",
        "apply",
        "-o",
        "fast",
        "--plan",
        "old.plan",
        "./changed",
    ];
    let output = run_ok(&mut holloway(folder, &words)).unwrap();
    let message = "old.plan: left out 1 line `tail` of functions that changed or are gone";
    assert!(output.stderr.contains(message), "{}", output.stderr);
    let run = |program: &Path| run_ok(Command::new(program).arg("10000")).unwrap();
    assert_eq!(run(&folder.join("fast")).text(), run(&program).text());
}

/// Checks that holloway fails with one line of its own, and writes no program.
#[track_caller]
fn fails(folder: &Path, words: &[&str], message: &str) {
    let output = run(&mut holloway(folder, words)).unwrap();
    assert_eq!(output.status.code(), Some(OWN_ERROR), "{}", output.stderr);
    let own = output
        .stderr
        .lines()
        .filter(|l| l.starts_with("holloway: "));
    let own: Vec<&str> = own.collect();
    assert_eq!(own.len(), 1, "{}", output.stderr);
    assert!(
        own[0].contains(message),
        "{message:?} is missing in: {}",
        own[0]
    );
    assert!(!folder.join("fast").exists(), "a program was written");
}

#[test]
fn bad_input_gives_one_line() {
    let scratch = scratch("optimize-errors").unwrap();
    let folder = scratch.path();
    app(folder, &["--embed"]);
    let optimize = |words: &[&'static str]| [&["optimize", "-o", "fast"][..], words].concat();
    fails(
        folder,
        &optimize(&["./app", "--", "99"]),
        "failed in training (exit status: 1): train it on a command that succeeds",
    );
    std::fs::write(folder.join("bad.plan"), "holloway plan 1\n7 7\n").unwrap();
    fails(
        folder,
        &optimize(&["--plan", "bad.plan", "./app"]),
        "cannot take bad.plan for a plan: line 2",
    );
    let edited = "holloway plan 1\nfunction 0000000000000007 1 2 main\nunpredictable 2 9\nend\n";
    std::fs::write(folder.join("edited.plan"), edited).unwrap();
    fails(
        folder,
        &optimize(&["--plan", "edited.plan", "./app"]),
        "cannot take edited.plan for a plan: line 3: edge 2 is out of range",
    );
    let other = "holloway plan 1\nfunction 0000000000000007 1 0 main\nend\n";
    std::fs::write(folder.join("other.plan"), other).unwrap();
    fails(
        folder,
        &optimize(&["--plan", "other.plan", "./app"]),
        "the plan has no function of ./app: it is of another program or another build",
    );
    let source = folder.join("pid.c");
    let text = "#include <stdio.h>\n#include <unistd.h>\nint main(void) { printf(\"%d\\n\", getpid()); }\n";
    std::fs::write(&source, text).unwrap();
    cc(folder, &source, &["--embed"], "pid");
    fails(
        folder,
        &optimize(&["./pid"]),
        "prints something else each time",
    );
    cc(folder, &source, &[], "native");
    fails(
        folder,
        &optimize(&["./native"]),
        "./native does not carry its bitcode: build it with `holloway cc --embed`",
    );
    std::fs::write(folder.join("text"), "no program\n").unwrap();
    fails(
        folder,
        &optimize(&["./text"]),
        "./text is no program for Linux",
    );
}

#[test]
fn a_signal_leaves_no_temporary_files() {
    let scratch = scratch("optimize-signal").unwrap();
    let folder = scratch.path();
    let source = folder.join("slow.c");
    let text = "#include <stdio.h>\n#include <unistd.h>\n\
                int main(void) { fclose(fopen(\"started\", \"w\")); sleep(20); }\n";
    std::fs::write(&source, text).unwrap();
    cc(folder, &source, &["--embed"], "slow");
    let temporary = folder.join("temporary");
    for signal in ["INT", "TERM"] {
        std::fs::create_dir(&temporary).unwrap();
        let mut optimize = holloway(folder, &["optimize", "-o", "fast", "./slow"]);
        let mut optimize = optimize
            .env("TMPDIR", &temporary)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        while !folder.join("started").exists() {
            assert_eq!(optimize.try_wait().unwrap(), None, "it ended early");
            std::thread::sleep(Duration::from_millis(10));
        }
        let mut kill = Command::new("kill");
        run_ok(kill.args(["-s", signal, &optimize.id().to_string()])).unwrap();
        assert!(!optimize.wait().unwrap().success(), "{signal}");
        // Only an empty directory can be removed like this.
        std::fs::remove_dir(&temporary).unwrap();
        std::fs::remove_file(folder.join("started")).unwrap();
        assert!(!folder.join("fast").exists(), "{signal}");
    }
}

/// A hot function with code that never runs in training, and a function that is never called.
const SPLIT_SOURCE: &str = "\
#include <stdio.h>
#include <stdlib.h>
long never(long n);
__attribute__((noinline)) long often(long n, long limit) {
  if (n > limit) {
    puts(\"large\");
    for (long i = 0; i < n; i++) printf(\"%ld\\n\", i * limit);
    return never(n);
  }
  return n * 7 ^ n >> 3;
}
__attribute__((noinline)) long never(long n) { return printf(\"%ld is too large\\n\", n); }
int main(int count, char **words) {
  long limit = count > 1 ? atol(words[1]) : 1 << 30;
  unsigned long sum = 0;
  for (long i = 0; i < 100000; i++) sum += often(i, limit);
  printf(\"%lu\\n\", sum);
}
";

/// Two threads execute a thousand codes for each round, eight of ten by `add`. Then each calls a
/// function of the C library once.
const CALLS_SOURCE: &str = "\
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
typedef unsigned (*operation)(unsigned);
__attribute__((noinline)) static unsigned add(unsigned x) { return x + 3; }
__attribute__((noinline)) static unsigned twist(unsigned x) { return x ^ x >> 3; }
__attribute__((noinline)) unsigned scale(unsigned x) { return x * 7; }
static const operation table[] = {add, twist, scale};
static int (*volatile absolute)(int) = abs;
static unsigned char codes[1000];
static int rounds;
__attribute__((noinline)) static unsigned execute(unsigned x) {
  for (int i = 0; i < 1000; i++) x = table[codes[i]](x);
  return absolute((int)x);
}
static void *work(void *result) {
  unsigned x = 1;
  for (int i = 0; i < rounds; i++) x = execute(x);
  *(unsigned *)result = x;
  return 0;
}
int main(int count, char **words) {
  rounds = count > 1 ? atoi(words[1]) : 100;
  for (int i = 0; i < 1000; i++) codes[i] = i % 10 < 8 ? 0 : i % 10 - 7;
  pthread_t threads[2];
  unsigned results[2];
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, work, &results[i]);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
  printf(\"%u %u\\n\", results[0], results[1]);
}
";

#[test]
fn indirect_calls_of_frequent_functions_become_direct() {
    for options in [&[][..], &["-s"]] {
        let scratch = scratch("optimize-calls").unwrap();
        let folder = scratch.path();
        let source = folder.join("app.c");
        std::fs::write(&source, CALLS_SOURCE).unwrap();
        let app = cc(folder, &source, &[&["--embed"], options].concat(), "app");
        let words = ["plan", "train", "-o", "app.plan", "./app", "--", "50"];
        run_ok(&mut holloway(folder, &words)).unwrap();
        let plan = std::fs::read_to_string(folder.join("app.plan")).unwrap();
        let mut functions = plan.split("function ");
        let execute = functions.find(|function| {
            let header = function.lines().next().unwrap();
            header.ends_with(" execute")
        });
        let lines = execute.expect("a plan of `execute`").lines();
        // The compiler chooses the order of the two calls.
        let targets = lines.filter_map(|line| line.strip_prefix("target ")?.split_once(' '));
        let mut targets: Vec<&str> = targets.map(|(_, target)| target).collect();
        targets.sort_unstable();
        let expected = ["100", "10000 scale", "10000 twist", "80000 add"];
        assert_eq!(targets, expected, "{options:?}: {plan}");
        let words = ["plan", "apply", "-o", "fast", "--plan", "app.plan", "./app"];
        run_ok(&mut holloway(folder, &words)).unwrap();
        let fast = folder.join("fast");
        let [expected, optimized] = [&app, &fast].map(|program| {
            let output = run_ok(Command::new(program).arg("7")).unwrap();
            output.text()
        });
        assert_eq!(optimized, expected, "{options:?}");
        // A stripped program has no names to look for.
        if options.is_empty() {
            let calls_add = |program: &Path| disassembly(program, "execute").contains("<add>");
            assert!(!calls_add(&app), "{}", disassembly(&app, "execute"));
            assert!(calls_add(&fast), "{}", disassembly(&fast, "execute"));
        }
    }
}

/// A function that the optimizer inlines into two others. One takes its branch always, the other
/// never.
const COPIES_SOURCE: &str = "\
#include <stdio.h>
#include <stdlib.h>
static unsigned history[64];
static unsigned step(unsigned value) {
  if (value % 3 == 0) {
    history[value % 61] += value;
    history[value % 53] ^= value << 3;
    history[value % 47] -= history[value % 43] + 7;
    return value * 5 + history[value % 41];
  }
  history[value % 59] -= value;
  history[value % 37] ^= value >> 5;
  history[value % 31] += history[value % 29] * 3;
  return value ^ history[value % 23];
}
__attribute__((noinline)) static unsigned multiples(const unsigned *values, unsigned n) {
  unsigned sum = 0;
  for (unsigned i = 0; i < n; i++) sum = sum * 31 + step(values[2 * i]);
  return sum;
}
__attribute__((noinline)) static unsigned others(const unsigned *values, unsigned n) {
  unsigned sum = 0;
  for (unsigned i = 0; i < n; i++) sum = sum * 33 + step(values[2 * i + 1]);
  return sum;
}
int main(int argc, char **argv) {
  unsigned n = argc > 1 ? atoi(argv[1]) : 0;
  unsigned *values = malloc(2 * n * sizeof *values);
  for (unsigned i = 0; i < n; i++) {
    values[2 * i] = 3 * (i * 2654435761u % 1000003);
    values[2 * i + 1] = 3 * (i * 2654435761u % 1000003) + 1;
  }
  unsigned first = multiples(values, n), second = others(values, n);
  printf(\"%u %u\\n\", first, second);
}
";

#[test]
fn late_counts_are_those_of_each_inlined_copy() {
    let scratch = scratch("optimize-late").unwrap();
    let folder = scratch.path();
    let source = folder.join("app.c");
    std::fs::write(&source, COPIES_SOURCE).unwrap();
    let app = cc(folder, &source, &["--embed"], "app");
    let words = ["plan", "train", "-o", "app.plan", "./app", "--", "70000"];
    run_ok(&mut holloway(folder, &words)).unwrap();
    let plan = std::fs::read_to_string(folder.join("app.plan")).unwrap();
    let (early, late) = plan.split_once("late\n").unwrap();
    // The calls of a function, and the different counts of its edges.
    let counts = |part: &str, name: &str| {
        let mut functions = part.split("function ");
        let named = format!(" {name}");
        let function = functions.find(|f| f.lines().next().is_some_and(|l| l.ends_with(&named)))?;
        let calls: u64 = function.split(' ').nth(1)?.parse().ok()?;
        let lines = function.lines().skip(1).filter(|line| *line != "end");
        let counts = lines.filter_map(|line| line.split_once(' ')?.1.parse().ok());
        Some((calls, counts.collect::<BTreeSet<u64>>()))
    };
    let (calls, branches) = counts(early, "step").unwrap();
    assert_eq!(calls, 140_000, "{plan}");
    assert_eq!(branches, [70_000, 140_000].into(), "{plan}");
    assert_eq!(counts(late, "step"), None, "{plan}");
    for name in ["multiples", "others"] {
        let (calls, edges) = counts(late, name).unwrap();
        assert_eq!(calls, 1, "{plan}");
        assert!(edges.is_subset(&[1, 69_999, 70_000].into()), "{plan}");
    }
    std::fs::write(folder.join("early.plan"), format!("{early}end\n")).unwrap();
    let programs = ["app", "early"].map(|name| {
        let plan = format!("{name}.plan");
        let fast = format!("fast-{name}");
        let words = ["plan", "apply", "-o", &fast, "--plan", &plan, "./app"];
        run_ok(&mut holloway(folder, &words)).unwrap();
        folder.join(fast)
    });
    let expected = run_ok(Command::new(&app).arg("9000")).unwrap().text();
    for program in &programs {
        let output = run_ok(Command::new(program).arg("9000")).unwrap();
        assert_eq!(output.text(), expected);
    }
    let [with, without] = programs.map(|program| std::fs::read(program).unwrap());
    assert!(with != without);
}

/// The arrays end where memory ends, so a load of an element that the program does not reach would
/// crash. `through` reaches all elements, `leaves` may return early, and `unknown` has no number of
/// iterations.
const AT_THE_END: &str = "\
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static long size, kept;
static void *at_end(long bytes) {
  long pages = (bytes + size - 1) / size;
  char *all = mmap(0, (pages + 1) * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(all + pages * size, size, PROT_NONE);
  return all + pages * size - bytes;
}
__attribute__((noinline)) long through(const int *at, const long *table, long n) {
  long sum = 0;
  for (long i = 0; i < n; i++)
    sum += table[at[i]];
  return sum;
}
__attribute__((noinline)) long down(const int *at, const long *table, int n) {
  long sum = 0;
  for (int i = n - 1; i >= 0; i -= 3)
    sum += table[at[i]] + kept;
  return sum;
}
__attribute__((noinline)) long pointers(long *const *at, long *const *end) {
  long sum = 0;
  do
    sum ^= **at;
  while (++at != end);
  return sum;
}
__attribute__((noinline)) long leaves(const int *at, const long *table, long n) {
  for (long i = 0; i < n; i++)
    if (table[at[i]] == 77)
      return i;
  return n;
}
__attribute__((noinline)) long unknown(const int *at, const long *table) {
  long sum = 0;
  for (; *at != 7; at++)
    sum += table[*at];
  return sum;
}
__attribute__((noinline)) long wraps(const int *ring, const long *table, long n) {
  unsigned short at = 65500;
  long sum = 0;
  while (n--)
    sum += table[ring[at++]];
  return sum;
}
struct counter { long left; };
__attribute__((noinline)) void step(struct counter *counter) {
  if (counter->left == 3) counter->left = 0;
}
__attribute__((noinline)) long reloaded(const int *at, const long *table, struct counter *counter) {
  long sum = 0;
  for (long k = counter->left; k; k = counter->left) {
    sum += table[*at++];
    counter->left = k - 1;
    step(counter);
  }
  return sum;
}
__attribute__((noinline)) long flagged(const int *at, const long *table, const _Bool *goes_on) {
  long sum = 0;
  for (long i = 0; goes_on[i]; i++)
    sum += table[at[i]];
  return sum;
}
__attribute__((noinline)) long bytes(const int *at, const long *table) {
  long sum = 0;
  for (unsigned char k = 0; k != 200; k += 5)
    sum += table[*at++];
  return sum;
}
struct __attribute__((packed)) item { char tag; int at; };
__attribute__((noinline)) long packed(const struct item *items, const long *table, long n) {
  long sum = 0;
  for (long i = 0; i < n; i++)
    sum += table[items[i].at];
  return sum;
}
__attribute__((noinline)) long waits(const int *at, const long *table, long n, volatile long *ready) {
  long sum = 0;
  for (long i = 0; i < n; i++) {
    while (*ready < 0) {}
    sum += table[at[i]];
  }
  return sum;
}
__attribute__((noinline)) unsigned hashed(const unsigned *at, const unsigned *table, long n) {
  unsigned sum = 0;
  for (long i = 0; i < n; i++) {
    unsigned h = at[i];
    for (int bit = 0; bit < 8; bit++)
      h = h & 1 ? h >> 1 ^ 0xedb88320u : h >> 1;
    sum += table[h & 63];
  }
  return sum;
}
__attribute__((noinline)) long rows(const long *first, const int *at, const long *table, long n) {
  long sum = 0;
  for (long row = 0; row < n; row++)
    for (long e = first[row]; e < first[row + 1]; e++)
      sum += table[at[e]];
  return sum;
}
__attribute__((noinline)) double matrix(const long *first, const int *at, const double *table, double *y, long n) {
  double all = 0;
  for (long row = 0; row < n; row++) {
    double sum = 0;
    for (long e = first[row]; e < first[row + 1]; e++)
      sum += table[at[e]];
    y[row] = sum;
    all += sum;
  }
  return all;
}
__attribute__((noinline)) long shrinks(long *first, const int *at, const long *table, long *y, long n) {
  long sum = 0;
  for (long row = 0; row < n; row++) {
    for (long e = first[row]; e < first[row + 1]; e++)
      sum += table[at[e]];
    y[row] = first[row];
  }
  return sum;
}
__attribute__((noinline)) long apart(const long *first, const long *last, const int *at, const long *table, long n) {
  long sum = 0;
  for (long row = 0; row < n; row++)
    for (long e = first[row]; e < last[row]; e++)
      sum += table[at[e]];
  return sum;
}
__attribute__((noinline)) long grows(int *queue, const unsigned char *more, const long *table) {
  long sum = 0, head = 0, tail = 1;
  queue[0] = 0;
  while (head < tail) {
    sum += table[queue[head]];
    for (long k = 0; k < 4; k++)
      if (more[head] >> k & 1) {
        queue[tail] = tail & 7;
        tail++;
      }
    head++;
  }
  return sum;
}
/* Graphs: rows of all lengths, rows that end before they begin, and ends that change. */
static long graphs(long n) {
  long *first = at_end((n + 1) * sizeof *first), *last = at_end(n * sizeof *last);
  for (long i = 0; i < n; i++) first[i + 1] = first[i] + i % 7 * (i % 3 > 0);
  int *at = at_end(first[n] * sizeof *at), *queue = at_end(n * sizeof *queue);
  unsigned char *more = at_end(n);
  long *table = at_end(8 * sizeof *table);
  double *x = at_end(8 * sizeof *x), *y = at_end(n * sizeof *y);
  for (long e = 0; e < first[n]; e++) at[e] = e * e & 7;
  for (long i = 0; i < 8; i++) x[i] = table[i] = i * 11;
  for (long i = 0; i < n; i++) {
    last[i] = first[i + 1];
    for (long k = 0; k < 4; k++) more[i] |= (4 * i + k + 1 < n) << k;
  }
  long sum = rows(first, at, table, n) + matrix(first, at, x, y, n) + grows(queue, more, table);
  sum += apart(first, last, at, table, n);
  /* Ends beyond the array, each of which the loop changes before it comes to the row. */
  long *ends = at_end((n + 2) * sizeof *ends);
  for (long i = 0; i < n + 2; i++) ends[i] = i < 2 ? first[i] : first[n] + 100000;
  sum += shrinks(ends, at, table, ends + 2, n);
  /* Rows that end before they begin. */
  for (long i = 0; i <= n; i++) ends[i] = i % 3 == 2 ? first[i] / 2 : first[i];
  return sum * 3 + rows(ends, at, table, n);
}
int main(void) {
  size = sysconf(_SC_PAGESIZE);
  long sum = 0;
  int *ring = at_end(65536 * sizeof *ring);
  unsigned *words = at_end(64 * sizeof *words);
  for (int i = 0; i < 64; i++) words[i] = i * 77u;
  for (int i = 0; i < 65536; i++) ring[i] = i & 3;
  for (long n = 1; n < 200; n++) {
    int *at = at_end(n * sizeof *at);
    long *table = at_end(n * sizeof *table);
    long **to = at_end(n * sizeof *to);
    for (long i = 0; i < n; i++) {
      at[i] = n - 1 - i;
      table[i] = i * i;
      to[i] = &table[at[i]];
    }
    sum += through(at, table, n) + down(at, table, n) * 3 + pointers(to, to + n) * 5;
    table[n / 2] = 77;
    sum += leaves(at, table, n * 1000);
    memset(at, 0, n * sizeof *at);
    at[n - 1] = 7;
    sum += unknown(at, table);
    struct counter counter = {n};
    struct item *items = at_end(n * sizeof *items);
    _Bool *goes_on = at_end(n);
    long *few = at_end(8 * sizeof *few);
    for (long i = 0; i < n; i++) {
      items[i].at = i % 8;
      goes_on[i] = i + 1 < n;
      at[i] = i & 7;
    }
    int *forty = at_end(40 * sizeof *forty);
    memset(few, 1, 8 * sizeof *few);
    sum += wraps(ring, few, n) + flagged(at, few, goes_on) + bytes(forty, few);
    sum += packed(items, few, n) + waits(at, few, n, few) + hashed(words, words, 64);
    if (n > 3) sum += reloaded(at + 3, few, &counter);
    sum = sum * 7 + graphs(n);
    sum = sum * 31 + kept;
  }
  printf(\"%ld\\n\", sum);
}
";

/// Prefetches look ahead, but load nothing that the program does not load.
#[test]
fn prefetches_touch_only_what_the_loop_reaches() {
    let folder = scratch("optimize-prefetch").unwrap();
    let source = folder.path().join("at_the_end.c");
    std::fs::write(&source, AT_THE_END).unwrap();
    let program = cc(folder.path(), &source, &["--embed", "-g"], "app");
    let plain = start(&program).text();
    let train = ["plan", "train", "-o", "app.plan", "./app"];
    run_ok(&mut holloway(folder.path(), &train)).unwrap();
    let plan = std::fs::read_to_string(folder.path().join("app.plan")).unwrap();
    let (counts, _) = plan
        .split_once("prefetches\n")
        .unwrap_or((plan.strip_suffix("end\n").unwrap(), ""));
    for turns in [1, 2, 16, 1000] {
        let functions = [
            "through", "down", "pointers", "leaves", "unknown", "wraps", "reloaded", "flagged",
            "bytes", "packed", "waits", "hashed", "rows", "matrix", "shrinks", "apart", "grows",
        ];
        let line_of = |function: &str| {
            let head = format!(" {function}(");
            let is_head = |line: &str| line.starts_with("__attribute__") && line.contains(&head);
            let is_load = |line: &str| {
                let loads = ["+= table[", "if (table[", "**at;"];
                loads.iter().any(|load| line.contains(load))
            };
            let mut lines = AT_THE_END.lines();
            let begin = lines.position(is_head).unwrap();
            begin + 2 + lines.position(is_load).unwrap()
        };
        let loads =
            functions.map(|function| format!("load {} 0 {turns} {function}\n", line_of(function)));
        let edited = format!("{counts}prefetches\n{}end\n", loads.concat());
        std::fs::write(folder.path().join("edited.plan"), edited).unwrap();
        let apply = [
            "plan",
            "apply",
            "-o",
            "fast",
            "--plan",
            "edited.plan",
            "./app",
        ];
        run_ok(&mut holloway(folder.path(), &apply)).unwrap();
        let fast = folder.path().join("fast");
        assert_eq!(start(&fast).text(), plain, "{turns} turns");
        for function in [
            "through", "down", "pointers", "packed", "hashed", "rows", "matrix", "grows",
        ] {
            let code = disassembly(&fast, function);
            assert!(code.contains("prefetcht0"), "{function}: {code}");
        }
    }
}

/// The address of a program's symbol.
fn address(program: &Path, name: &str) -> Option<u64> {
    use object::{Object as _, ObjectSymbol as _};
    let bytes = std::fs::read(program).unwrap();
    let file = object::File::parse(bytes.as_slice()).unwrap();
    file.symbol_by_name(name).map(|symbol| symbol.address())
}

/// Four functions that are called in turn, and one that never is.
const ORDER_SOURCE: &str = "\
#include <stdio.h>
static __attribute__((noinline)) long add(long n) { return n + 3; }
__attribute__((noinline)) long twice(long n) { return 2 * n; }
__attribute__((noinline)) long half(long n) { return n / 2; }
static __attribute__((noinline)) long mix(long n) { return n ^ (n >> 3); }
__attribute__((noinline)) long never(long n) { return n - 1; }
int main(int count, char **words) {
  long n = count;
  for (int i = 0; i < 100000; i++) n = mix(half(twice(add(n)))) & 0xffff;
  printf(\"%ld\\n\", count > 3 ? never(n) : n);
}
";

#[test]
fn functions_lie_in_the_order_of_the_plan() {
    for linker in [&[][..], &["-fuse-ld=lld"]] {
        let scratch = scratch("optimize-order").unwrap();
        let folder = scratch.path();
        let source = folder.join("app.c");
        std::fs::write(&source, ORDER_SOURCE).unwrap();
        let app = cc(folder, &source, &[&["--embed"], linker].concat(), "app");
        let words = ["plan", "train", "-o", "app.plan", "./app"];
        run_ok(&mut holloway(folder, &words)).unwrap();
        let plan = std::fs::read_to_string(folder.join("app.plan")).unwrap();
        let (counts, order) = plan.split_once("\norder\n").expect("an order");
        let trained: BTreeSet<&str> = order.lines().collect();
        let functions = ["add", "half", "main", "mix", "twice"];
        let expected = functions.map(|name| format!("place {name}"));
        let expected = expected.iter().map(String::as_str).chain(["end"]);
        assert_eq!(trained, expected.collect(), "{linker:?}");

        let order = ["mix", "gone", "twice", "main", "add", "half"];
        let lines: String = order.map(|name| format!("place {name}\n")).concat();
        let edited = format!("{counts}\norder\n{lines}end\n");
        std::fs::write(folder.join("edited.plan"), edited).unwrap();
        let words = [
            "plan",
            "apply",
            "-o",
            "fast",
            "--plan",
            "edited.plan",
            "./app",
        ];
        run_ok(&mut holloway(folder, &words)).unwrap();
        let fast = folder.join("fast");
        let order = ["mix", "twice", "main", "add", "half", "never"];
        let places = order.map(|name| address(&fast, name).unwrap());
        assert!(places.is_sorted(), "{linker:?}: {places:x?}");
        assert_eq!(start(&fast).text(), start(&app).text(), "{linker:?}");

        let words = [
            "optimize", "-o", "best", "--pairs", "1", "--format", "json", "./app",
        ];
        let output = run_ok(&mut holloway(folder, &words)).unwrap();
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        // So little code fits in the instruction cache.
        assert!(json["order"].is_null(), "{json}");
        assert_eq!(start(&folder.join("best")).text(), start(&app).text());
    }
}

#[test]
fn code_that_never_ran_lies_apart() {
    let sections = ["-ffunction-sections", "-Wl,--gc-sections"];
    for options in [&[][..], &sections] {
        let scratch = scratch("optimize-split").unwrap();
        let folder = scratch.path();
        let source = folder.join("app.c");
        std::fs::write(&source, SPLIT_SOURCE).unwrap();
        let app = cc(folder, &source, &[&["--embed"], options].concat(), "app");
        let words = ["plan", "train", "-o", "app.plan", "./app"];
        run_ok(&mut holloway(folder, &words)).unwrap();
        let words = ["plan", "apply", "-o", "fast", "--plan", "app.plan", "./app"];
        run_ok(&mut holloway(folder, &words)).unwrap();
        let fast = folder.join("fast");
        let places = |program| ["often", "never"].map(|name| address(program, name).unwrap());
        let [often, never] = places(&app);
        assert!(often < never, "{options:?}: the order of the source");
        let [often, never] = places(&fast);
        assert!(often < never, "{options:?}: cold functions come last");
        assert_eq!(address(&app, "often.cold"), None, "{options:?}");
        let cold = address(&fast, "often.cold").expect("a cold part");
        assert!(
            often < cold,
            "{options:?}: hot functions come before other code"
        );
        let [plain, fast] = [&app, &fast].map(|program| {
            let output = run(Command::new(program).arg("99998")).unwrap();
            output.text()
        });
        assert!(fast.contains("99999 is too large"), "{options:?}");
        assert_eq!(fast, plain, "{options:?}");
    }
}

/// The lines of a plan's early counts, without lines that only training writes.
fn early_counts(plan: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(plan).unwrap();
    let lines = text.lines().skip(1).map(str::to_owned);
    let early = lines.take_while(|line| !["late", "prefetches", "end"].contains(&line.as_str()));
    early
        .filter(|line| !line.starts_with("unpredictable"))
        .collect()
}

#[test]
fn exact_sampled_and_recorded_profiles_become_plans_without_training() {
    let scratch = scratch("optimize-profiles").unwrap();
    let folder = scratch.path();
    let program = app(folder, &["--embed"]);
    let expected = start(&program);
    let ok = |words: &[&str]| run_ok(&mut holloway(folder, words)).unwrap();
    let shown = |plan: &str| std::fs::read_to_string(folder.join(plan)).unwrap();

    // The counts of the instrumented program are those of training.
    ok(&["plan", "train", "-o", "trained.plan", "./app"]);
    ok(&["plan", "instrument", "-o", "counting", "./app"]);
    ok(&["run", "--no-report", "-o", "counted", "--", "./counting"]);
    ok(&["plan", "from", "-o", "exact.plan", "./app", "counted"]);
    let counted = early_counts(&folder.join("exact.plan"));
    assert_eq!(counted, early_counts(&folder.join("trained.plan")));

    // One section is all of main's code: each of its blocks ran as often.
    let text = symbol_of_app(folder, "main").map(|(start, size)| {
        let last = start + size - 1;
        format!("F {start:x} {last:x} 1000\n")
    });
    std::fs::write(folder.join("records.txt"), text.unwrap()).unwrap();
    ok(&["plan", "from", "-o", "records.plan", "./app", "records.txt"]);
    let records = shown("records.plan");
    assert!(records.contains(" main\n"), "{records}");
    assert!(
        records.lines().any(|line| line.ends_with(" 1000")),
        "{records}"
    );

    // Samples of the plain program. A stripped copy is the same program.
    ok(&["monitor", "--no-report", "-o", "watched", "--", "./app"]);
    ok(&["plan", "from", "-o", "sampled.plan", "./app", "watched"]);
    let strip = Command::new("strip")
        .current_dir(folder)
        .args(["-o", "stripped", "app"])
        .status();
    assert!(strip.unwrap().success());
    ok(&[
        "plan",
        "from",
        "-o",
        "stripped.plan",
        "./stripped",
        "watched",
    ]);
    assert_eq!(shown("stripped.plan"), shown("sampled.plan"));
    // The loop's inner edges ran most.
    let graph = |plan: &[String]| plan[0].split(' ').nth(1).unwrap().to_owned();
    let sampled = early_counts(&folder.join("sampled.plan"));
    assert_eq!(graph(&sampled), graph(&counted));
    assert!(
        hottest(&sampled)
            .iter()
            .all(|edge| hottest(&counted).contains(edge))
    );

    for (number, plan) in ["exact.plan", "records.plan", "sampled.plan"]
        .iter()
        .enumerate()
    {
        let output = format!("fast{number}");
        ok(&["plan", "apply", "-o", &output, "--plan", plan, "./app"]);
        assert_eq!(
            start(&folder.join(&output)).text(),
            expected.text(),
            "{plan}"
        );
    }
    let words = [
        "optimize",
        "-o",
        "fast",
        "--profile",
        "watched",
        "--profile",
        "counted",
    ];
    let output = ok(&[&words[..], &["--pairs", "1", "./app"]].concat());
    assert!(
        output.text().contains("from 2 profiles"),
        "{}",
        output.text()
    );
}

/// The edges that ran more than three quarters as often as the edge that ran most. Each way of a
/// balanced branch has about half of them, so samples may round it up or down.
fn hottest(counts: &[String]) -> Vec<String> {
    let edges = counts.iter().filter_map(|line| line.split_once(' '));
    let edges = edges.filter_map(|(edge, count)| Some((edge, count.parse::<u64>().ok()?)));
    let edges: Vec<(&str, u64)> = edges.collect();
    let most = edges.iter().map(|(_, count)| *count).max().unwrap();
    let hot = edges.iter().filter(|(_, count)| *count * 4 > most * 3);
    hot.map(|(edge, _)| (*edge).to_owned()).collect()
}

/// The address and the size of a symbol of the program `app`.
fn symbol_of_app(folder: &Path, name: &str) -> Option<(u64, u64)> {
    let mut nm = Command::new("nm");
    let output = run_ok(nm.arg("-S").arg(folder.join("app"))).unwrap().text();
    let line = output
        .lines()
        .find(|line| line.ends_with(&format!(" {name}")))?;
    let mut numbers = line.split(' ').map(|word| u64::from_str_radix(word, 16));
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[test]
fn unusable_profiles_fail_with_one_line() {
    let scratch = scratch("optimize-bad-profiles").unwrap();
    let folder = scratch.path();
    app(folder, &["--embed"]);
    run_ok(&mut holloway(
        folder,
        &["monitor", "--no-report", "-o", "watched", "--", "./app"],
    ))
    .unwrap();
    run_ok(&mut holloway(
        folder,
        &["plan", "instrument", "-o", "counting", "./app"],
    ))
    .unwrap();
    let words = ["run", "--no-report", "-o", "counted", "--", "./counting"];
    run_ok(&mut holloway(folder, &words)).unwrap();
    for directory in ["empty", "other"] {
        std::fs::create_dir(folder.join(directory)).unwrap();
    }
    let other = folder.join("other.c");
    std::fs::write(&other, SOURCE.replace("1023", "511")).unwrap();
    cc(folder, &other, &["--embed"], "other/app");
    cc(folder, &other, &["--embed"], "else");
    std::fs::write(folder.join("empty.txt"), "").unwrap();
    std::fs::write(folder.join("outside.txt"), "F 10 20 5\n").unwrap();
    let check = |program: &str, profile: &str, message: &str| {
        fails(
            folder,
            &["plan", "from", "-o", "x.plan", program, profile],
            message,
        );
    };
    check("./app", "nowhere", "nowhere");
    check("./app", "empty", "empty has no profile: name a run");
    check("./app", "empty.txt", "it is empty: record again");
    check(
        "./app",
        "outside.txt",
        "the profiles show no code that ./app carries",
    );
    check("other/app", "watched", "watched is of another build of");
    check("./else", "watched", "watched does not show");
    check(
        "other/app",
        "counted",
        "counted counts another build than other/app carries",
    );
    // The output must not replace a profile.
    for words in [
        &["plan", "from", "-o", "outside.txt", "./app", "outside.txt"][..],
        &[
            "optimize",
            "-o",
            "outside.txt",
            "--profile",
            "./outside.txt",
            "./app",
        ],
    ] {
        let output = run(&mut holloway(folder, words)).unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", output.stderr);
        let message = "holloway: the output outside.txt would replace the input";
        assert!(output.stderr.starts_with(message), "{}", output.stderr);
    }
    let kept = std::fs::read_to_string(folder.join("outside.txt")).unwrap();
    assert_eq!(kept, "F 10 20 5\n");
}
