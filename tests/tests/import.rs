//! Tests `holloway import`: files of `perf record`, branch stacks of a simulated processor, and
//! BOLT's text, against exact counts.
//!
//! No machine of the tests has branch records. A tracer runs the program step by step and writes
//! its taken branches, which a processor with branch records would see. The tests make stacks of
//! them.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock, PoisonError};

use holloway_testkit::perf_data::PerfDataWriter;
use holloway_tests::tool::{Output, holloway_command, installed, run, run_ok, scratch};
use serde_json::Value;
use tempfile::TempDir;

/// Loops, a switch, calls, recursion, and a callback from the C library.
const SOURCE: &str = r#"
#include <stdio.h>
#include <stdlib.h>
static __attribute__((noinline)) long collatz(long n) {
    long steps = 0;
    while (n != 1) {
        if (n & 1)
            n = 3 * n + 1;
        else
            n /= 2;
        steps++;
    }
    return steps;
}
static __attribute__((noinline)) long kind(long n) {
    switch (n % 7) {
    case 0: return collatz(n + 3);
    case 1: return n * 5;
    case 2: return n ^ 77;
    case 3: return collatz(n + 1) - 3;
    default: return n / 3;
    }
}
static __attribute__((noinline)) long depth(long n) {
    return n < 2 ? 1 : n % 3 ? depth(n - 1) + 1 : depth(n / 3) + depth(n - 2);
}
static int compare(const void *a, const void *b) {
    int x = *(const int *)a, y = *(const int *)b;
    return x < y ? -1 : x > y;
}
int main(int count, char **words) {
    long rounds = count > 1 ? atol(words[1]) : 60, sum = 0;
    int numbers[32];
    unsigned seed = 7;
    for (long i = 1; i <= rounds; i++) {
        sum += collatz(i) + kind(i);
        if (i % 16 == 0) {
            for (int k = 0; k < 32; k++)
                numbers[k] = (int)(seed = seed * 1664525 + 1013904223) >> 8;
            qsort(numbers, 32, sizeof *numbers, compare);
            sum += numbers[5] + depth(i % 23);
        }
    }
    printf("%ld\n", sum);
    return 0;
}
"#;

/// Branches of a stack, as hardware has them.
const STACK: usize = 32;

/// A program with its taken branches: addresses as the program's symbols name them, or 0 elsewhere.
struct Traced {
    folder: TempDir,
    build_id: Vec<u8>,
    /// Addresses in the process.
    branches: Vec<(u64, u64)>,
    /// The mappings of code: first address, length, offset in the file.
    mapping: (u64, u64, u64),
}

impl Traced {
    fn program(&self) -> PathBuf {
        self.folder.path().join("app")
    }

    /// A file with a stack at each `step`-th branch.
    fn perf_data(&self, step: usize) -> PerfDataWriter {
        let mut writer = PerfDataWriter::default();
        let program = self.program();
        writer
            .exec(7)
            .map(7, self.mapping, program.to_str().unwrap(), &self.build_id);
        for end in (STACK..=self.branches.len()).step_by(step) {
            let stack: Vec<(u64, u64, bool)> = self.branches[end - STACK..end]
                .iter()
                .map(|&(from, to)| (from, to, from % 3 == 0))
                .collect();
            writer.sample(7, stack[STACK - 1].1, &stack);
        }
        writer
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.folder.path().join(name), bytes).unwrap();
    }

    fn holloway(&self, words: &[&str]) -> Output {
        let mut command = holloway_command(words.iter().copied());
        run(command.current_dir(self.folder.path())).unwrap()
    }

    fn ok(&self, words: &[&str]) -> Output {
        let mut command = holloway_command(words.iter().copied());
        run_ok(command.current_dir(self.folder.path())).unwrap()
    }

    fn json(&self, words: &[&str]) -> Value {
        serde_json::from_slice(&self.ok(words).stdout).unwrap()
    }
}

fn compile(folder: &Path, options: &[&str], output: &str) {
    let words = [
        "cc",
        "-O2",
        "-g",
        "-fno-unroll-loops",
        "app.c",
        "-o",
        output,
    ];
    let mut command = holloway_command(words);
    command.args(options).current_dir(folder);
    command.env("HOLLOWAY_CACHE", folder.join("cache"));
    run_ok(&mut command).unwrap();
}

/// Builds the program, and traces it once for all tests.
fn traced() -> &'static Traced {
    static TRACED: OnceLock<Traced> = OnceLock::new();
    TRACED.get_or_init(|| {
        let folder = scratch("import").unwrap();
        let path = folder.path();
        std::fs::write(path.join("app.c"), SOURCE).unwrap();
        compile(path, &["--collect", "none"], "app");
        let tracer = Path::new(env!("CARGO_MANIFEST_DIR")).join("tracer/taken_branches.c");
        run_ok(
            Command::new(installed("gcc").unwrap())
                .args(["-O2", "-Wall", "-Werror"])
                .arg(tracer)
                .arg("-o")
                .arg(path.join("tracer")),
        )
        .unwrap();
        let mut tracer = Command::new(path.join("tracer"));
        tracer.args(["trace", "./app"]).current_dir(path);
        run_ok(&mut tracer).unwrap();
        let trace = std::fs::read(path.join("trace")).unwrap();
        let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap());
        let pairs = trace.chunks_exact(16);
        let mut pairs = pairs.map(|pair| (number(&pair[..8]), number(&pair[8..])));
        let (base, _) = pairs.next().unwrap();
        let program = path.join("app");
        let bytes = std::fs::read(&program).unwrap();
        let file = object::File::parse(bytes.as_slice()).unwrap();
        let build_id = object::Object::build_id(&file).unwrap().unwrap().to_vec();
        let code = object::Object::segments(&file)
            .find(|segment| {
                let flags = object::ObjectSegment::flags(segment);
                matches!(flags, object::SegmentFlags::Elf { p_flags, .. } if p_flags.0 & 1 != 0)
            })
            .unwrap();
        let (offset, _) = object::ObjectSegment::file_range(&code);
        let start = base + object::ObjectSegment::address(&code);
        let length = object::ObjectSegment::size(&code);
        let mapping = (start, length, offset);
        // The program's own start-up, and not the loader's.
        let is_inside = |address: u64| (start..start + length).contains(&address);
        let branches: Vec<(u64, u64)> = pairs
            .skip_while(|&(from, to)| !is_inside(from) && !is_inside(to))
            .collect();
        assert!(branches.len() > 3000, "{}", branches.len());
        Traced {
            branches,
            build_id,
            mapping,
            folder,
        }
    })
}

/// A run of the same program that counted: its directory in the folder.
fn counted(traced: &Traced, kind: &str) -> String {
    // Tests run at the same time.
    static BUILDING: Mutex<()> = Mutex::new(());
    let _guard = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    let (program, run) = (format!("counted-{kind}"), format!("run-{kind}"));
    if !traced.folder.path().join(&run).exists() {
        let options = ["--collect", kind, "--exits", "off"];
        compile(traced.folder.path(), &options, &program);
        let program = format!("./{program}");
        traced.ok(&["run", "--no-report", "-o", &run, "--", &program]);
    }
    run
}

fn overlap(document: &Value) -> f64 {
    document["overlap"].as_f64().unwrap()
}

#[test]
fn stacks_of_a_real_program_agree_with_exact_counts() {
    let traced = traced();
    traced.write("all.data", &traced.perf_data(1).finish());
    traced.ok(&["import", "all.data", "--no-report", "-o", "all"]);
    let document = traced.json(&["report", "all", "--format", "json"]);
    let records = &document["records"];
    let number = |name: &str| records[name].as_u64().unwrap();
    assert_eq!(records["depth"], 32, "{records}");
    assert_eq!(number("impossible_runs"), 0, "{records}");
    // The code generator may change the code, but rarely does.
    let unknown = number("unmatched") + number("ambiguous");
    assert!(unknown * 50 < number("transitions"), "{records}");
    assert!(number("paths") > 1000, "{records}");
    let [edges, paths] = ["edges", "paths"].map(|kind| counted(traced, kind));
    let of_edges = traced.json(&["overlap", "all", &edges, "--format", "json"]);
    assert!(overlap(&of_edges) > 0.97, "{of_edges}");
    let of_paths = traced.json(&["overlap", "all", &paths, "--format", "json"]);
    assert!(overlap(&of_paths) > 0.9, "{of_paths}");
}

#[test]
fn the_report_says_that_edges_and_paths_are_sampled() {
    let traced = traced();
    traced.write("some.data", &traced.perf_data(7).finish());
    let output = traced.ok(&["import", "some.data", "-o", "some"]);
    for text in [
        "imported      some.data, event cycles:u",
        "stacks of up to 32",
        "blocks        app",
    ] {
        assert!(output.text().contains(text), "{text}\n{}", output.text());
    }
    for (view, texts) in [
        (
            "paths",
            [
                "sampled, not exact: paths",
                "longer paths are missing",
                "Hottest paths",
            ],
        ),
        (
            "edges",
            [
                "sampled, not exact: edges",
                "32 taken branches",
                "Hottest edges",
            ],
        ),
        (
            "branches",
            [
                "sampled, not exact: edges",
                "measured: ",
                "Hardest branches",
            ],
        ),
        (
            "blocks",
            ["time-based", "per instruction", "Hottest blocks"],
        ),
        ("lines", ["time-based", "app.c", "Hottest lines"]),
    ] {
        let output = traced.ok(&["report", "some", "--view", view]);
        for text in texts {
            assert!(
                output.text().contains(text),
                "{view}: {text}\n{}",
                output.text()
            );
        }
    }
    let paths = counted(traced, "paths");
    let output = traced.ok(&["overlap", "some", &paths]);
    assert!(
        output.text().contains("sampled, not exact"),
        "{}",
        output.text()
    );
    // Paths of branch records are stacks. Each line ends with the instructions of all executions.
    let folded = traced.ok(&["export", "some", "--format", "folded"]);
    assert!(
        folded.stderr.contains("sampled, not exact"),
        "{}",
        folded.stderr
    );
    let weights = folded.text().lines().fold(0, |sum, line| {
        let weight = line.rsplit(' ').next();
        sum + weight
            .and_then(|weight| weight.parse().ok())
            .unwrap_or(0u64)
    });
    let overlap = traced.json(&["overlap", "some", &paths, "--format", "json"]);
    let expected = overlap["a"]["instructions"].as_u64().unwrap();
    assert!(expected > 0);
    assert_eq!(weights, expected);
    let refused = traced.holloway(&["export", "some", "--format", "lcov"]);
    assert!(
        refused.stderr.contains("has only samples"),
        "{}",
        refused.stderr
    );
    let guided = ["cc", "--guide", "some", "-O2", "app.c", "-o", "guided"];
    let output = traced.ok(&guided);
    assert!(output.stderr.contains("sampled"), "{}", output.stderr);
    let output = traced.ok(&["manager", "--store", "store", "some"]);
    assert!(output.text().contains("1 run with"), "{}", output.text());
}

/// This machine may have no branch stacks. Then one line says so, and no run is left behind.
#[test]
fn the_monitor_records_branch_stacks_or_says_that_there_are_none() {
    let traced = traced();
    let words = [
        "monitor",
        "--branch-stacks",
        "--no-report",
        "-o",
        "stacks",
        "--",
        "./app",
    ];
    let output = traced.holloway(&words);
    if output.ending() == "exit 0" {
        let document = traced.json(&["report", "stacks", "--format", "json"]);
        assert_eq!(document["records"]["source"], "monitor", "{document}");
        return;
    }
    assert_eq!(output.ending(), "exit 125", "{output:?}");
    assert_eq!(output.stderr.lines().count(), 1, "{}", output.stderr);
    assert!(
        output.stderr.contains("holloway import"),
        "{}",
        output.stderr
    );
    assert!(!traced.folder.path().join("stacks").exists());
}

/// BOLT's text of the same branches shows the same edges, and no paths.
#[test]
fn the_text_of_bolt_gives_edges() {
    let traced = traced();
    let (start, length, offset) = traced.mapping;
    let bytes = std::fs::read(traced.program()).unwrap();
    let file = object::File::parse(bytes.as_slice()).unwrap();
    let segments = object::Object::segments(&file);
    let code = segments
        .into_iter()
        .find(|segment| object::ObjectSegment::file_range(segment).0 == offset);
    let address = object::ObjectSegment::address(&code.unwrap());
    let id: String = traced
        .build_id
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let place = |number: u64| match (start..start + length).contains(&number) {
        true => format!("{id}:{:x}", number - start + address),
        false => "X:0".to_owned(),
    };
    let mut text = "E cycles:u\n".to_owned();
    for pair in traced.branches.windows(2) {
        let [(from, to), (end, _)] = [pair[0], pair[1]];
        text += &format!("T {} {} {} 3\n", place(from), place(to), place(end));
    }
    traced.write("bolt.txt", text.as_bytes());
    let output = traced.ok(&["import", "bolt.txt", "app", "-o", "bolt"]);
    let shown = output.text();
    assert!(
        shown.contains("without stacks") && shown.contains("Hottest edges"),
        "{shown}"
    );
    // The text has no times.
    assert!(!shown.contains("per second"), "{shown}");
    assert!(!output.stderr.contains("warning"), "{}", output.stderr);
    let edges = counted(traced, "edges");
    let document = traced.json(&["overlap", "bolt", &edges, "--format", "json"]);
    assert!(overlap(&document) > 0.98, "{document}");

    // Old versions of BOLT write branches and runs on lines of their own.
    let mut text = String::new();
    for pair in traced.branches.windows(2) {
        let [(from, to), (end, _)] = [pair[0], pair[1]];
        text += &format!("B {} {} 3 0\n", place(from), place(to));
        text += &format!("F {} {} 3\n", place(to), place(end));
    }
    traced.write("old.txt", text.as_bytes());
    traced.ok(&["import", "old.txt", "app", "--no-report", "-o", "old"]);
    let document = traced.json(&["overlap", "old", &edges, "--format", "json"]);
    assert!(overlap(&document) > 0.98, "{document}");
    let output = traced.holloway(&["report", "bolt", "--view", "paths"]);
    assert_eq!(output.ending(), "exit 2");
    assert!(
        output.stderr.contains("perf record -j any,u"),
        "{}",
        output.stderr
    );

    // Addresses without a build id fit any program, and a warning says so.
    traced.write("plain.txt", text.replace(&format!("{id}:"), "").as_bytes());
    let output = traced.ok(&["import", "plain.txt", "app", "--no-report", "-o", "plain"]);
    assert!(
        output.stderr.contains("is not checked"),
        "{}",
        output.stderr
    );
    let other = format!("B {}:10 {}:20 1 0\n", "ab".repeat(20), "ab".repeat(20));
    traced.write("other.txt", other.as_bytes());
    refused(
        traced,
        &["other.txt", "app"],
        &[&id, &"ab".repeat(20), "record again"],
    );
    refused(traced, &["bolt.txt"], &["name the program"]);
    refused(traced, &["bolt.txt", "app", "app"], &["2 are named"]);
    refused(traced, &["bolt.txt", "app.c"], &["not a readable program"]);
    traced.write("bad.txt", b"B 1 2\n");
    refused(traced, &["bad.txt", "app"], &["line 1"]);
}

/// Checks that an import fails with one line that contains `texts`, and leaves no run behind.
fn refused(traced: &Traced, words: &[&str], texts: &[&str]) {
    let words = [&["import"], words, &["-o", "refused"]].concat();
    let output = traced.holloway(&words);
    assert_eq!(output.ending(), "exit 125", "{words:?}: {output:?}");
    assert_eq!(
        output.stderr.lines().count(),
        1,
        "{words:?}: {}",
        output.stderr
    );
    for text in texts {
        assert!(
            output.stderr.contains(text),
            "{words:?}: {text}: {}",
            output.stderr
        );
    }
    assert!(!traced.folder.path().join("refused").exists(), "{words:?}");
}

#[test]
fn files_that_cannot_be_used_are_refused_with_one_line() {
    let traced = traced();
    let whole = traced.perf_data(97).finish();
    let changed = |at: usize, bytes: &[u8]| {
        let mut file = whole.clone();
        file[at..at + bytes.len()].copy_from_slice(bytes);
        file
    };
    let of = |change: &dyn Fn(&mut PerfDataWriter)| {
        let mut writer = traced.perf_data(97);
        change(&mut writer);
        writer.finish()
    };
    let mut trace = PerfDataWriter::default();
    trace.record(71, 0, &[0; 40]);
    let mut kernel = PerfDataWriter::default();
    kernel.record(9, 1, &[0; 32]);
    for (name, bytes, text) in [
        ("empty.data", Vec::new(), "is empty"),
        ("head.data", whole[..50].to_vec(), "truncated"),
        ("half.data", whole[..whole.len() / 2].to_vec(), "truncated"),
        ("end.data", whole[..whole.len() - 1].to_vec(), "truncated"),
        ("unfinished.data", changed(48, &[0; 8]), "did not finish it"),
        ("big-endian.data", changed(0, b"2ELIFREP"), "big-endian"),
        ("old.data", changed(0, b"PERFFILE"), "older than"),
        ("damaged.data", changed(16, &[0; 8]), "damaged"),
        ("trace.data", trace.finish(), "perf inject"),
        (
            "machine.data",
            of(&|file| file.machine = "riscv64".to_owned()),
            "riscv64",
        ),
        (
            "calls.data",
            of(&|file| file.branch_sample_type = 1 | 1 << 4),
            "-j any,u",
        ),
        ("kernel.data", kernel.finish(), "no sample in user mode"),
    ] {
        traced.write(name, &bytes);
        refused(traced, &[name], &[text, name]);
    }
    refused(traced, &["missing.data"], &["cannot read"]);
    refused(traced, &["/dev/null"], &["not a regular file"]);

    // Another build of the program.
    let id: String = traced
        .build_id
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let mut other = PerfDataWriter::default();
    let program = traced.program();
    other
        .exec(7)
        .map(7, traced.mapping, program.to_str().unwrap(), &[0xab; 20])
        .sample(7, traced.mapping.0 + 16, &[]);
    traced.write("other.data", &other.finish());
    refused(
        traced,
        &["other.data"],
        &[&id, &"ab".repeat(20), "record again"],
    );
    // A program that was not recorded.
    traced.write("whole.data", &whole);
    let counted_program = counted(traced, "edges").replace("run-", "counted-");
    refused(
        traced,
        &["whole.data", &counted_program],
        &["was not recorded", &id],
    );
}

#[test]
fn pipe_mode_and_a_moved_program_are_read() {
    let traced = traced();
    let mut moved = PerfDataWriter::default();
    moved
        .exec(7)
        .map(7, traced.mapping, "/nowhere/app", &traced.build_id);
    for end in (STACK..traced.branches.len()).step_by(97) {
        let stack = &traced.branches[end - STACK..end];
        let stack: Vec<(u64, u64, bool)> =
            stack.iter().map(|&(from, to)| (from, to, false)).collect();
        moved.sample(7, stack[STACK - 1].1, &stack);
    }
    traced.write("pipe.data", &moved.finish_pipe());
    traced.ok(&["import", "pipe.data", "app", "--no-report", "-o", "pipe"]);
    let document = traced.json(&["report", "pipe", "--format", "json"]);
    let app = &document["files"][0];
    assert_eq!(app["blocks"], "known", "{app}");
    assert!(
        document["records"]["paths"].as_u64().unwrap() > 10,
        "{document}"
    );
    // Without the program, nothing is known of its addresses.
    traced.ok(&["import", "pipe.data", "--no-report", "-o", "unread"]);
    let document = traced.json(&["report", "unread", "--format", "json"]);
    assert_eq!(document["files"][0]["blocks"], "unread");
}

/// Processes that ran before the recording map files without build ids.
#[test]
fn a_file_with_and_without_a_build_id_is_one_file() {
    let traced = traced();
    let program = traced.program();
    let path = program.to_str().unwrap();
    let mut writer = PerfDataWriter::default();
    for (process, build_id) in [(7, &traced.build_id[..]), (8, &[])] {
        writer
            .exec(process)
            .map(process, traced.mapping, path, build_id);
        for end in (STACK..traced.branches.len()).step_by(97) {
            let stack = &traced.branches[end - STACK..end];
            let stack: Vec<(u64, u64, bool)> =
                stack.iter().map(|&(from, to)| (from, to, false)).collect();
            writer.sample(process, stack[STACK - 1].1, &stack);
        }
    }
    traced.write("both.data", &writer.finish());
    let output = traced.ok(&["import", "both.data", "--no-report", "-o", "both"]);
    assert!(
        output.stderr.contains("is not checked"),
        "{}",
        output.stderr
    );
    let document = traced.json(&["report", "both", "--format", "json"]);
    let files = document["files"].as_array().unwrap();
    let apps = files.iter().filter(|file| file["path"] == path);
    assert_eq!(apps.count(), 1, "{document}");
    assert!(
        document["records"]["paths"].as_u64().unwrap() > 10,
        "{document}"
    );
}

#[test]
fn an_earlier_import_is_not_overwritten() {
    let traced = traced();
    traced.write("first.data", &traced.perf_data(97).finish());
    traced.write("second.data", &traced.perf_data(193).finish());
    let data = traced.folder.path().join("shared");
    let import = |file: &str| {
        let mut command = holloway_command(["import", file, "--no-report"]);
        command.env("HOLLOWAY_DATA", &data);
        run(command.current_dir(traced.folder.path())).unwrap()
    };
    let files = || {
        let files = std::fs::read_dir(&data).unwrap();
        let mut files: Vec<(PathBuf, Vec<u8>)> = files
            .map(|file| file.unwrap().path())
            .map(|path| (path.clone(), std::fs::read(path).unwrap()))
            .collect();
        files.sort();
        files
    };
    assert_eq!(import("first.data").ending(), "exit 0");
    let first = files();
    assert_eq!(first.len(), 3, "a path map, branches, and samples");
    let output = import("second.data");
    assert_eq!(output.ending(), "exit 125", "{output:?}");
    assert_eq!(output.stderr.lines().count(), 1, "{}", output.stderr);
    assert!(
        output.stderr.contains("choose another directory"),
        "{}",
        output.stderr
    );
    assert_eq!(files(), first);
}

#[test]
fn a_full_disk_leaves_no_run_behind() {
    let traced = traced();
    traced.write("disk.data", &traced.perf_data(97).finish());
    let output = traced.holloway(&["import", "disk.data", "-o", "/dev/full/run"]);
    assert_eq!(output.ending(), "exit 125", "{output:?}");
    assert_eq!(output.stderr.lines().count(), 1, "{}", output.stderr);
}

/// Runs perf in the folder. On Linux 6.18, perf 6.1 dies of a stack overrun while it collects build
/// ids, if a monitor of another test asks for build ids at the same time. Then it runs again
/// without them (`-B`).
fn perf(traced: &Traced, options: &[&str]) -> Output {
    let record = |more: &[&str]| {
        let mut command = Command::new(installed("perf").unwrap());
        command
            .args(["record", "-q", "-e", "cpu-clock:u"])
            .args(more)
            .args(options);
        command.args(["--", "./app", "300000"]);
        run(command.current_dir(traced.folder.path())).unwrap()
    };
    let mut output = record(&[]);
    if output.ending().starts_with("signal") {
        output = record(&["-B"]);
    }
    assert_eq!(output.ending(), "exit 0", "{output:?}");
    output
}

/// Records with the real perf, and compares with the monitor's view of the same program.
#[test]
fn files_of_perf_record_are_read() {
    let traced = traced();
    for (name, options) in [
        ("perf.data", &["-F", "4000", "-o", "perf.data"][..]),
        (
            "compressed.data",
            &["-F", "4000", "-z", "-o", "compressed.data"],
        ),
        (
            "ids.data",
            &["-F", "4000", "--buildid-mmap", "-o", "ids.data"],
        ),
        (
            "callers.data",
            &["-F", "4000", "-g", "-d", "--period", "-o", "callers.data"],
        ),
    ] {
        perf(traced, options);
        let run = name.replace("data", "run");
        traced.ok(&["import", name, "--no-report", "-o", &run]);
        let document = traced.json(&["report", &run, "--format", "json"]);
        assert_eq!(
            (&document["basis"], &document["clock"]),
            (&"time".into(), &"cpu-time".into())
        );
        assert_eq!(document["frequency"], 4000, "{name}");
        assert_eq!(document["records"]["event"], "cpu-clock:u", "{name}");
        let functions = document["functions"].as_array().unwrap();
        let collatz = functions
            .iter()
            .find(|function| function["name"] == "collatz");
        let collatz = collatz.unwrap_or_else(|| panic!("{name}: {document:#}"));
        assert_eq!(collatz["found_by"], "blocks", "{name}");
        let samples = document["samples"].as_u64().unwrap();
        assert!(
            collatz["samples"].as_u64().unwrap() * 10 > samples * 4,
            "{name}: {collatz}"
        );
    }
    let output = perf(traced, &["-o", "-"]);
    traced.write("stream.data", &output.stdout);
    traced.ok(&["import", "stream.data", "--no-report", "-o", "stream"]);
}
