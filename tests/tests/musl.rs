//! Tests programs that are linked with musl, statically or dynamically. They must have the same
//! counts as with glibc. For timed paths, the report must say whether they were preempted, or that
//! nothing detected preemption.
//!
//! `programs` tests single programs in variants with musl, and the runtime has further tests
//! (modules `musl`).
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use holloway_tests::agree::differences;
use holloway_tests::kind::Kind;
use holloway_tests::machine::Machine;
use holloway_tests::program::{Language, Libc, Variant, compiler, run_program};
use holloway_tests::report::Report;
use holloway_tests::tool::{holloway_command, run, run_ok, scratch, tests_directory};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

const LIBCS: [Libc; 3] = [Libc::Glibc, Libc::Musl, Libc::MuslStatic];
/// All kinds except variation, whose counts are estimates.
const KINDS: [Kind; 6] = [
    Kind::PathsClosed,
    Kind::Paths,
    Kind::Edges,
    Kind::Loops,
    Kind::Trace,
    Kind::Times,
];
/// The calls of functions in `all.c`. Threads and children call `work`.
const CALLS: [(&str, u64); 3] = [
    ("work", 4 * 1000 + 3 * 100),
    ("on_signal", 50),
    ("in_thread", 4),
];
/// The functions with left or reentered frames, and the number of these frames, if exit edges are
/// counted. `deep` is left by jumps. Its recursion has been compiled to a loop.
const LEFT: [(&str, u64); 4] = [("thrown", 1), ("deep", 20), ("children", 1), ("main", 1)];
/// The number of preempted turns that `preempted.c` waits for.
const FOUND: &str = "50";

/// Returns the command of `holloway cc` for a kind and a C library.
fn cc(kind: Kind, libc: Libc) -> Command {
    let variant = Variant {
        level: "O2".to_owned(),
        clang: 22,
        lld: libc == Libc::Musl,
        libc,
        machine: Machine::Host,
    };
    compiler(Language::C, &variant, Some(&kind.into())).unwrap()
}

fn build(name: &str, kind: Kind, libc: Libc, folder: &Path) -> PathBuf {
    let program = folder.join(format!("{}-{libc:?}", kind.name()));
    let mut command = cc(kind, libc);
    command.env("HOLLOWAY_SKIP", "^other_");
    let source = tests_directory().join(format!("musl/{name}.c"));
    run_ok(command.arg(source).arg("-o").arg(&program)).unwrap();
    program
}

/// Runs a program, which must succeed. Returns the directory of its data.
fn record(program: &Path, arguments: &[&str], wanted: &str) -> PathBuf {
    let data = program.with_extension("data");
    let mut run = holloway_command(["run", "--no-report", "-o"]);
    run.arg(&data).arg("--").arg(program).args(arguments);
    // No path passes untimed between bursts.
    let ran = run_ok(run.env("HOLLOWAY_BURST", "0:1")).unwrap();
    assert_eq!(ran.text(), wanted, "{}", program.display());
    data
}

#[test]
fn counts_are_those_with_glibc() {
    let scratch = scratch("musl-counts").unwrap();
    for kind in KINDS {
        let mut of_glibc = None;
        for libc in LIBCS {
            let program = build("all", kind, libc, scratch.path());
            let data = record(&program, &[], "50 20 3\n");
            if kind == Kind::Trace {
                run_ok(holloway_command(["trace", "verify"]).arg(&data)).unwrap();
            }
            let report = Report::of_run(&data).unwrap();
            let shown = format!("{} {libc:?}", kind.name());
            let left = LEFT.iter().filter(|_| kind.has_exits());
            for (name, calls) in CALLS.iter().chain(left) {
                assert_eq!(report.calls(name), *calls, "{name}, {shown}");
            }
            let glibc = of_glibc.get_or_insert(report);
            let report = Report::of_run(&data).unwrap();
            let differ = differences((kind, &report), (kind, glibc), &|_| false);
            assert!(differ.is_empty(), "{shown}: {}", differ.join("\n"));
        }
    }
}

/// Returns the sample statistics of `--view variation`, and its output.
fn samples(data: &Path) -> (Value, String) {
    let view = |format: &str| {
        let words = ["report", "--view", "variation", "--format", format];
        run_ok(holloway_command(words).arg(data)).unwrap().text()
    };
    let json: Value = serde_json::from_str(&view("json")).unwrap();
    (json["samples"].clone(), view("text"))
}

const UNWATCHED: &str =
    "100.0 % of the samples can't be told to be preempted or not: the C library keeps no rseq area";

#[test]
fn with_all_paths_timed_nobody_watches_and_it_is_said() {
    let scratch = scratch("musl-times").unwrap();
    for libc in [Libc::Musl, Libc::MuslStatic] {
        let program = build("preempted", Kind::Times, libc, scratch.path());
        let data = record(&program, &[FOUND], &format!("{FOUND}\n"));
        assert_eq!(Report::of_run(&data).unwrap().calls("hit"), 50);
        let (samples, text) = samples(&data);
        assert!(samples["samples"].as_u64() > Some(50), "{samples}");
        assert_eq!(samples["unwatched"], samples["samples"]);
        assert_eq!(samples["disturbed"], 0);
        assert!(text.contains(UNWATCHED), "{text}");
    }
}

#[test]
fn in_bursts_preemption_is_seen() {
    let scratch = scratch("musl-variation").unwrap();
    for libc in [Libc::Musl, Libc::MuslStatic] {
        let program = build("preempted", Kind::Variation, libc, scratch.path());
        let data = record(&program, &[FOUND], &format!("{FOUND}\n"));
        let (samples, text) = samples(&data);
        assert_eq!(samples["unwatched"], 0, "{samples}");
        // Some preemptions may happen in probes, whose time belongs to no path. The tests of the
        // runtime check which samples are marked.
        assert!(samples["preempted"].as_u64() > Some(0), "{samples}");
        assert!(!text.contains("unwatched"), "{text}");
    }
}

#[test]
fn what_dlopen_opens_must_be_there_from_the_start() {
    let scratch = scratch("musl-dlopen").unwrap();
    let sources = tests_directory().join("programs/dlopen");
    let link = |libc: Libc, name: &str, words: &[&str], output: &str| {
        let folder = scratch.path().join(format!("{libc:?}"));
        std::fs::create_dir_all(&folder).unwrap();
        let mut command = cc(Kind::PathsClosed, libc);
        command.current_dir(&folder).arg(sources.join(name));
        let ran = run_ok(command.args(words).args(["-o", output])).unwrap();
        (folder, ran.stderr)
    };
    for (libc, is_said) in [(Libc::Glibc, false), (Libc::Musl, true)] {
        let (folder, said) = link(libc, "plugin.c", &["-shared", "-fPIC"], "libplugin.so");
        let note = "holloway: note: libplugin.so: musl loads a woven shared object with the program, not by dlopen: link the program with it, or name it in LD_PRELOAD\n";
        assert_eq!(said, if is_said { note } else { "" });
        let (_, said) = link(libc, "main.c", &["-ldl"], "program");
        assert_eq!(said, "");
        let mut program = Command::new(folder.join("program"));
        program.current_dir(&folder);
        if is_said {
            program.env("LD_PRELOAD", folder.join("libplugin.so"));
        }
        let data = folder.join("data");
        assert_eq!(
            run_program(&mut program, Some(&data)).unwrap().text(),
            "1500\n"
        );
        let report = Report::of_run(&data).unwrap();
        // glibc unloads the library each time.
        let opened = if is_said { 1 } else { 50 };
        for (name, calls) in [
            ("plugin_work", 1500),
            ("host", 50),
            ("plugin_start", opened),
            ("plugin_end", opened),
        ] {
            assert_eq!(report.calls(name), calls, "{name} {libc:?}");
        }
    }
}

/// musl may crash when it reports that it cannot find a symbol without a name. The report explains
/// this possible reason for programs that use `dlopen`.
#[test]
fn a_crash_that_dlopen_may_be_the_reason_of_is_explained() {
    let scratch = scratch("musl-crash").unwrap();
    let folder = scratch.path();
    let crash = "int main(void) { return *(volatile int *)8; }";
    let opens = "void *dlopen(const char *, int); int main(void) { dlopen(\"nosuch.so\", 1); return *(volatile int *)8; }";
    std::fs::write(folder.join("crash.c"), crash).unwrap();
    std::fs::write(folder.join("opens.c"), opens).unwrap();
    let note = |name: &str| {
        format!(
            "holloway: note: ./{name} ended by a segmentation fault: musl can't load a woven shared object after the program has started (dlopen), and may crash as it says so; link the program with it, or name it in LD_PRELOAD\n"
        )
    };
    for (libc, name, is_said) in [
        (Libc::Glibc, "opens", false),
        (Libc::Musl, "opens", true),
        (Libc::Musl, "crash", false),
        // A program that is linked statically with musl opens no libraries.
        (Libc::MuslStatic, "opens", false),
    ] {
        let mut command = cc(Kind::PathsClosed, libc);
        let source = format!("{name}.c");
        run_ok(command.current_dir(folder).args([&source, "-o", name])).unwrap();
        let program = format!("./{name}");
        let mut command = holloway_command(["run", "--no-report", "--", &program]);
        let ran = run(command.current_dir(folder)).unwrap();
        assert_eq!(ran.ending(), "exit 139", "{}", ran.stderr);
        let has_note = ran.stderr.contains(&note(name));
        assert_eq!(has_note, is_said, "{name} {libc:?}: {}", ran.stderr);
    }
}
