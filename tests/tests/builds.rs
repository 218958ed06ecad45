//! Tests builds with CMake, configure, make, and cargo. Each must produce a program that counts.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use holloway_tests::files::copy_tree;
use holloway_tests::program::{Language, Program, find_executable, run_program};
use holloway_tests::report::Report;
use holloway_tests::tool::{
    cargo_holloway, clean, holloway, holloway_command, installed, run, run_ok, scratch,
    tests_directory,
};
use std::path::Path;
use std::process::Command;

const MAIN: &str = "int twice(int);\nint main(void) {\n  int sum = 0;\n  for (int i = 0; i < 50; i++)\n    sum += twice(i);\n  return sum == 2450 ? 7 : 1;\n}\n";
const TWICE: &str = "int twice(int n) { return n > 1000 ? 0 : 2 * n; }\n";

fn sources(folder: &Path) {
    std::fs::write(folder.join("main.c"), MAIN).unwrap();
    std::fs::write(folder.join("twice.c"), TWICE).unwrap();
}

/// Returns a command whose CC and CXX are Holloway's compilers.
fn with_compilers(program: &str, folder: &Path) -> Command {
    let mut command = Command::new(program);
    clean(&mut command);
    let exe = holloway().display();
    command
        .current_dir(folder)
        .env("CC", format!("{exe} cc"))
        .env("CXX", format!("{exe} c++"));
    command.env("HOLLOWAY_CLANG", installed("clang-22").unwrap());
    command
}

fn counts(program: &Path, folder: &Path) {
    let data = folder.join("data");
    let output = run_program(&mut Command::new(program), Some(&data)).unwrap();
    assert_eq!(output.ending(), "exit 7");
    let report = Report::of_run(&data).unwrap();
    assert_eq!((report.calls("twice"), report.calls("main")), (50, 1));
}

#[test]
fn cmake() {
    let scratch = scratch("cmake").unwrap();
    let folder = scratch.path();
    sources(folder);
    let lists = "cmake_minimum_required(VERSION 3.20)\nproject(app C CXX)\nadd_library(twice STATIC twice.c)\n\
                 add_executable(app main.c)\ntarget_link_libraries(app twice)\n";
    std::fs::write(folder.join("CMakeLists.txt"), lists).unwrap();
    run_ok(with_compilers("cmake", folder).args([
        "-S",
        ".",
        "-B",
        "build",
        "-DCMAKE_BUILD_TYPE=Release",
    ]))
    .unwrap();
    run_ok(with_compilers("cmake", folder).args(["--build", "build"])).unwrap();
    counts(&folder.join("build/app"), folder);
}

#[test]
fn autoconf() {
    let scratch = scratch("autoconf").unwrap();
    let folder = scratch.path();
    sources(folder);
    let configure = "AC_INIT([app], [1])\nAC_PROG_CC\nAC_CHECK_HEADERS([unistd.h])\nAC_CHECK_FUNCS([fork no_such_function])\n\
                     AC_C_BIGENDIAN\nAC_CHECK_SIZEOF([long])\nAC_CONFIG_FILES([Makefile])\nAC_OUTPUT\n";
    std::fs::write(folder.join("configure.ac"), configure).unwrap();
    let makefile = "CC = @CC@\nCFLAGS = @CFLAGS@\napp: main.o libtwice.a\n\t$(CC) $(CFLAGS) main.o -L. -ltwice -o app\n\
                    libtwice.a: twice.o\n\tar crs $@ twice.o\n\tranlib $@\n";
    std::fs::write(folder.join("Makefile.in"), makefile).unwrap();
    run_ok(Command::new("autoconf").current_dir(folder)).unwrap();
    let output = run_ok(with_compilers("./configure", folder).arg("--quiet")).unwrap();
    assert!(!output.stderr.contains("error"), "{}", output.stderr);
    let log = std::fs::read_to_string(folder.join("config.log")).unwrap();
    for line in [
        "ac_cv_func_fork=yes",
        "ac_cv_func_no_such_function=no",
        "ac_cv_sizeof_long=8",
        "ac_cv_c_bigendian=no",
    ] {
        assert!(
            log.contains(line),
            "configure found something else than {line}"
        );
    }
    run_ok(&mut with_compilers("make", folder)).unwrap();
    counts(&folder.join("app"), folder);
}

#[test]
fn compile_and_link_apart_with_plain_objects_between() {
    let scratch = scratch("apart").unwrap();
    let folder = scratch.path();
    sources(folder);
    run_ok(
        with_compilers(holloway().to_str().unwrap(), folder).args(["cc", "-O2", "-c", "twice.c"]),
    )
    .unwrap();
    // The object is a normal object: other tools read it, and another linker links it without
    // instrumentation.
    let symbols = run_ok(Command::new("nm").current_dir(folder).arg("twice.o")).unwrap();
    assert!(symbols.text().contains("T twice"), "{}", symbols.text());
    run_ok(
        Command::new("gcc")
            .current_dir(folder)
            .args(["main.c", "twice.o", "-o", "unwoven"]),
    )
    .unwrap();
    assert_eq!(
        run(&mut Command::new(folder.join("unwoven")))
            .unwrap()
            .ending(),
        "exit 7"
    );
    // A plain object of another compiler is linked unchanged.
    run_ok(
        Command::new("gcc")
            .current_dir(folder)
            .args(["-O2", "-c", "main.c", "-o", "plain.o"]),
    )
    .unwrap();
    run_ok(
        with_compilers(holloway().to_str().unwrap(), folder)
            .args(["cc", "plain.o", "twice.o", "-o", "mixed"]),
    )
    .unwrap();
    let data = folder.join("mixed-data");
    assert_eq!(
        run_program(&mut Command::new(folder.join("mixed")), Some(&data))
            .unwrap()
            .ending(),
        "exit 7"
    );
    let report = Report::of_run(&data).unwrap();
    assert_eq!((report.calls("twice"), report.calls("main")), (50, 0));
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let scratch = scratch("same").unwrap();
    let mut built = Vec::new();
    for round in 0..2 {
        let folder = scratch.path().join("build");
        std::fs::create_dir_all(&folder).unwrap();
        sources(&folder);
        let mut command = with_compilers(holloway().to_str().unwrap(), &folder);
        // A separate cache, so that the second round weaves again.
        command.env(
            "HOLLOWAY_CACHE",
            scratch.path().join(format!("cache{round}")),
        );
        run_ok(command.args(["cc", "-O2", "-g", "main.c", "twice.c", "-o", "app"])).unwrap();
        built.push(std::fs::read(folder.join("app")).unwrap());
        std::fs::remove_dir_all(&folder).unwrap();
    }
    assert!(
        built[0] == built[1],
        "two builds of the same sources differ"
    );
}

#[test]
fn c_woven_in_a_rust_program() {
    let scratch = scratch("c-in-rust").unwrap();
    let program = Program::read(&tests_directory().join("programs/c_and_rust")).unwrap();
    assert_eq!(program.language, Language::Cargo);
    copy_tree(&program.folder, scratch.path()).unwrap();
    let mut command = cargo_holloway(["build", "--release"]);
    command
        .current_dir(scratch.path())
        .env("CC", format!("{} cc", holloway().display()));
    command.env("HOLLOWAY_CLANG", installed("clang-22").unwrap());
    run_ok(command.env("CARGO_TARGET_DIR", scratch.path().join("target"))).unwrap();
    let executable = find_executable(&scratch.path().join("target"), "c-and-rust").unwrap();
    let data = scratch.path().join("data");
    run_program(&mut Command::new(executable), Some(&data)).unwrap();
    let report = Report::of_run(&data).unwrap();
    assert_eq!(
        (report.calls("rust_square"), report.calls("c_sum")),
        (450, 10)
    );
}

/// Writes a package with a library, a binary, tests of every kind, a bench, a build script, and a
/// proc macro.
fn cargo_project(folder: &Path) {
    let files = [
        (
            "Cargo.toml",
            "[package]\nname = \"shop\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[dependencies]\nmacros = { path = \"macros\" }\n\n\
             [features]\nloud = []\n\n[[bench]]\nname = \"speed\"\nharness = false\n\n[workspace]\n",
        ),
        (
            "build.rs",
            "fn main() {\n    println!(\"cargo::rustc-env=FROM_BUILD={}\", 6 * 7);\n}\n",
        ),
        (
            "macros/Cargo.toml",
            "[package]\nname = \"macros\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[lib]\nproc-macro = true\n",
        ),
        (
            "macros/src/lib.rs",
            "extern crate proc_macro;\n#[proc_macro]\npub fn answer(_: proc_macro::TokenStream) -> proc_macro::TokenStream {\n    \"42\".parse().unwrap()\n}\n",
        ),
        (
            "src/lib.rs",
            "//! ```\n//! assert_eq!(shop::price(1), 43);\n//! ```\n#[inline(never)]\npub fn price(n: u64) -> u64 {\n    if n > 10 { n } else { n + macros::answer!() }\n}\n\
             #[cfg(test)]\nmod tests {\n    #[test]\n    fn cheap() {\n        assert_eq!(super::price(2), 44);\n    }\n}\n",
        ),
        (
            "src/main.rs",
            "fn main() {\n    let n: u64 = std::env::args().nth(1).unwrap().parse().unwrap();\n    let sum: u64 = (0..n).map(shop::price).sum();\n    \
             println!(\"{sum} {} {} {}\", env!(\"FROM_BUILD\"), cfg!(feature = \"loud\"), cfg!(from_flags));\n    std::process::exit(9);\n}\n",
        ),
        (
            "tests/outside.rs",
            "#[test]\nfn dear() {\n    assert_eq!(shop::price(11), 11);\n}\n",
        ),
        (
            "benches/speed.rs",
            "fn main() {\n    assert_eq!((0..100).map(shop::price).count(), 100);\n}\n",
        ),
        (
            "examples/show.rs",
            "fn main() {\n    println!(\"{}\", shop::price(5));\n}\n",
        ),
        (
            ".cargo/config.toml",
            "[target.x86_64-unknown-linux-gnu]\nrustflags = [\"--cfg\", \"from_flags\"]\n",
        ),
    ];
    for (name, text) in files {
        let file = folder.join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
}

/// Runs `cargo holloway` in the project with a run directory.
fn cargo_run(
    folder: &Path,
    words: &[&str],
    data: &Path,
    after: &[&str],
) -> holloway_tests::tool::Output {
    let mut command = cargo_holloway(words);
    command.current_dir(folder).arg("-o").arg(data).args(after);
    run(&mut command).unwrap()
}

#[test]
fn cargo_holloway_run_passes_arguments_flags_and_the_exit_status() {
    let scratch = scratch("cargo-run").unwrap();
    let (folder, data) = (scratch.path(), scratch.path().join("data"));
    cargo_project(folder);
    let output = cargo_run(
        folder,
        &["run", "--release", "--features", "loud"],
        &data,
        &["--", "100"],
    );
    assert_eq!(output.ending(), "exit 9", "{}", output.stderr);
    assert!(
        output.text().starts_with("5412 42 true true\n"),
        "{}{}",
        output.text(),
        output.stderr
    );
    assert!(
        output.text().contains("price"),
        "the report follows the program's output:\n{}",
        output.text()
    );
    let report = Report::of_run(&data).unwrap();
    assert_eq!(report.calls("price"), 100);
    let strangers = ["build_script", "answer"];
    for f in &report.functions {
        assert!(
            !strangers.iter().any(|s| f.name.contains(s)),
            "{} is the host's and was woven",
            f.name
        );
    }
}

#[test]
fn cargo_holloway_keeps_runs_and_the_latest_beside_them() {
    let scratch = scratch("cargo-latest").unwrap();
    cargo_project(scratch.path());
    for _ in 0..2 {
        let mut command = cargo_holloway(["run", "--no-report", "--", "5"]);
        assert_eq!(
            run(command.current_dir(scratch.path())).unwrap().ending(),
            "exit 9"
        );
    }
    let runs = scratch.path().join("target/holloway/runs");
    let names: Vec<String> = std::fs::read_dir(&runs)
        .unwrap()
        .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name: &String| name != ".maps")
        .collect();
    assert_eq!(names.len(), 3, "two runs and `latest`: {names:?}");
    let latest = std::fs::canonicalize(runs.join("latest")).unwrap();
    let newest = names.iter().filter(|n| *n != "latest").max().unwrap();
    assert_eq!(latest.file_name().unwrap().to_string_lossy(), *newest);
    let mut command = holloway_command(["report", "--format", "json"]);
    let output = run_ok(command.current_dir(scratch.path())).unwrap();
    assert_eq!(Report::parse(&output.text()).unwrap().calls("price"), 5);
}

#[test]
fn cargo_holloway_test_bench_and_examples() {
    let scratch = scratch("cargo-test").unwrap();
    let folder = scratch.path();
    cargo_project(folder);
    let data = folder.join("tests-data");
    let output = cargo_run(folder, &["test"], &data, &[]);
    assert_eq!(
        output.ending(),
        "exit 0",
        "{}{}",
        output.text(),
        output.stderr
    );
    assert_eq!(
        output.text().matches("1 passed").count(),
        3,
        "unit, integration and doc test:\n{}",
        output.text()
    );
    assert_eq!(Report::of_run(&data).unwrap().calls("price"), 3);
    let data = folder.join("bench-data");
    let output = cargo_run(folder, &["bench", "--bench", "speed"], &data, &[]);
    assert_eq!(output.ending(), "exit 0", "{}", output.stderr);
    assert_eq!(Report::of_run(&data).unwrap().calls("price"), 100);
    let data = folder.join("example-data");
    let output = cargo_run(folder, &["run", "--example", "show"], &data, &[]);
    assert_eq!(output.ending(), "exit 0", "{}", output.stderr);
    assert_eq!(Report::of_run(&data).unwrap().calls("price"), 1);
}

#[test]
fn rustflags_of_the_environment_and_a_wrapper_are_respected() {
    let scratch = scratch("cargo-flags").unwrap();
    let (folder, data) = (scratch.path(), scratch.path().join("data"));
    cargo_project(folder);
    std::fs::remove_dir_all(folder.join(".cargo")).unwrap();
    let wrapper = folder.join("wrapper.sh");
    let log = folder.join("wrapped");
    std::fs::write(
        &wrapper,
        format!(
            "#!/bin/sh\necho \"$@\" >> '{}'\nexec \"$@\"\n",
            log.display()
        ),
    )
    .unwrap();
    run_ok(Command::new("chmod").arg("+x").arg(&wrapper)).unwrap();
    let mut command = cargo_holloway(["run", "--release", "-o"]);
    command.arg(&data).args(["--", "10"]).current_dir(folder);
    let output = run(command
        .env("RUSTFLAGS", "--cfg from_flags")
        .env("RUSTC_WRAPPER", &wrapper))
    .unwrap();
    assert_eq!(output.ending(), "exit 9", "{}", output.stderr);
    assert!(
        output.text().starts_with("465 42 false true\n"),
        "{}{}",
        output.text(),
        output.stderr
    );
    assert_eq!(Report::of_run(&data).unwrap().calls("price"), 10);
    assert!(
        std::fs::read_to_string(&log)
            .unwrap()
            .contains("--crate-name shop"),
        "the user's wrapper wasn't called"
    );
}

#[test]
fn std_is_woven_when_asked_for() {
    let scratch = scratch("cargo-std").unwrap();
    let folder = scratch.path();
    std::fs::create_dir_all(folder.join("src")).unwrap();
    std::fs::write(
        folder.join("Cargo.toml"),
        "[package]\nname = \"words\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n",
    )
    .unwrap();
    let main = "fn main() {\n    let text: String = std::env::args().skip(1).collect();\n    println!(\"{:?}\", text.parse::<f64>());\n}\n";
    std::fs::write(folder.join("src/main.rs"), main).unwrap();
    let mut functions = Vec::new();
    for (name, words) in [
        ("without", &["run", "--release"][..]),
        ("with", &["run", "--release", "--std"]),
    ] {
        let data = folder.join(name);
        let output = cargo_run(folder, words, &data, &["--", "12.5"]);
        assert!(
            output.text().starts_with("Ok(12.5)\n"),
            "{}{}",
            output.text(),
            output.stderr
        );
        let report = Report::of_run(&data).unwrap();
        functions.push(
            report
                .functions
                .iter()
                .filter(|f| f.name.contains("dec2flt") && f.total() > 0)
                .count(),
        );
    }
    assert_eq!(functions[0], 0, "std was woven unasked");
    assert!(functions[1] > 0, "std's float parser has no counts");
}

#[test]
fn only_and_skip_choose_functions() {
    let scratch = scratch("only").unwrap();
    let folder = scratch.path();
    sources(folder);
    for (variable, calls) in [("HOLLOWAY_ONLY", (50, 0)), ("HOLLOWAY_SKIP", (0, 1))] {
        let mut command = with_compilers(holloway().to_str().unwrap(), folder);
        run_ok(
            command
                .env(variable, "twice")
                .args(["cc", "-O0", "main.c", "twice.c", "-o", "app"]),
        )
        .unwrap();
        let data = folder.join(variable);
        assert_eq!(
            run_program(&mut Command::new(folder.join("app")), Some(&data))
                .unwrap()
                .ending(),
            "exit 7"
        );
        let report = Report::of_run(&data).unwrap();
        assert_eq!(
            (report.calls("twice"), report.calls("main")),
            calls,
            "{variable}"
        );
    }
}

#[test]
fn the_demo_shows_paths() {
    let scratch = scratch("demo").unwrap();
    let output = run_ok(holloway_command(["demo"]).current_dir(scratch.path())).unwrap();
    assert!(
        output.text().contains('%') && output.text().contains(".rs:"),
        "{}",
        output.text()
    );
}

#[test]
fn doctor_finds_everything_here() {
    let output = run_ok(&mut holloway_command(["doctor"])).unwrap();
    for word in ["rustc", "LLVM", "clang", "linker"] {
        assert!(
            output.text().contains(word),
            "doctor says nothing of {word}:\n{}",
            output.text()
        );
    }
}
