//! Tests bad input and bad environments on the command line. Each gives one line that names the
//! problem and the remedy, without a panic and without a half-written file. A program that cannot
//! write its data still runs.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use holloway_tests::program::{profiles, run_program};
use holloway_tests::report::Report;
use holloway_tests::tool::{
    Output, clean, holloway, holloway_command, installed, libllvm_19, run, run_ok, scratch,
};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Exit status of holloway's own errors.
const OWN_ERROR: i32 = 125;
/// Exit status of a wrong command line.
const USAGE_ERROR: i32 = 2;

const SOURCE: &str = "\
#include <stdio.h>
__attribute__((noinline)) int work(int n) {
  if (n % 3)
    return n * 2;
  return n + 1;
}
int main(void) {
  int sum = 0;
  for (int i = 0; i < 1000; i++)
    sum += work(i);
  printf(\"%d\\n\", sum);
  return 3;
}
";

/// Checks that holloway prints one line with all these words, and that nothing panics.
#[track_caller]
fn says(output: &Output, words: &[&str]) {
    let text = &output.stderr;
    assert!(
        !text.contains("panicked") && !text.contains("RUST_BACKTRACE"),
        "a panic:\n{text}"
    );
    let own: Vec<&str> = text
        .lines()
        .filter(|l| l.starts_with("holloway: ") || l.starts_with("error: "))
        .collect();
    assert_eq!(
        own.len(),
        1,
        "one line of holloway's own, not {}:\n{text}",
        own.len()
    );
    for word in words {
        assert!(own[0].contains(word), "{word:?} is missing in: {}", own[0]);
    }
}

#[track_caller]
fn fails(command: &mut Command, status: i32, words: &[&str]) {
    let output = run(command).unwrap();
    assert_eq!(
        output.status.code(),
        Some(status),
        "{}\n{}{}",
        output.ending(),
        output.stderr,
        output.text()
    );
    says(&output, words);
    assert_eq!(
        output.stderr.lines().filter(|l| !l.is_empty()).count(),
        1,
        "one line and no more:\n{}",
        output.stderr
    );
}

fn cc(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = holloway_command(["cc"]);
    command
        .current_dir(folder)
        .args(arguments)
        .env("HOLLOWAY_CLANG", installed("clang-22").unwrap());
    command
}

fn report(arguments: &[&str]) -> Command {
    let mut command = holloway_command(["report"]);
    command.args(arguments);
    command
}

/// A woven program in `folder`.
fn program(folder: &Path) -> PathBuf {
    std::fs::write(folder.join("a.c"), SOURCE).unwrap();
    run_ok(&mut cc(folder, &["-O1", "a.c", "-o", "a"])).unwrap();
    folder.join("a")
}

/// Records a run with `holloway run`. Returns its directory, with a sealed profile and a map.
fn recorded(folder: &Path) -> PathBuf {
    let program = program(folder);
    let data = folder.join("data");
    let output = run(holloway_command(["run", "--no-report", "-o"])
        .arg(&data)
        .arg("--")
        .arg(program))
    .unwrap();
    assert_eq!(output.ending(), "exit 3", "{}", output.stderr);
    data
}

fn only_file(folder: &Path, extension: &str) -> PathBuf {
    let files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    let actual: Vec<_> = files
        .iter()
        .filter(|f| f.extension().is_some_and(|e| e == extension))
        .collect();
    assert_eq!(actual.len(), 1, "one .{extension} in {files:?}");
    actual[0].clone()
}

#[test]
fn garbage_that_says_it_is_bitcode() {
    let scratch = scratch("input").unwrap();
    let mut bytes = b"BC\xc0\xde".to_vec();
    bytes.extend((0..4000u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()));
    std::fs::write(scratch.path().join("bad.o"), bytes).unwrap();
    std::fs::write(scratch.path().join("a.c"), SOURCE).unwrap();
    let output = run(&mut cc(scratch.path(), &["a.c", "bad.o", "-o", "a"])).unwrap();
    assert!(!output.status.success());
    says(&output, &["bad.o"]);
    assert!(
        !scratch.path().join("a").exists(),
        "half a program was left behind"
    );
}

#[test]
fn truncated_bitcode() {
    let scratch = scratch("input").unwrap();
    let folder = scratch.path();
    std::fs::write(folder.join("a.c"), SOURCE).unwrap();
    let clang = installed("clang-22").unwrap();
    run_ok(
        Command::new(clang)
            .current_dir(folder)
            .args(["-flto", "-c", "a.c", "-o", "cut.o"]),
    )
    .unwrap();
    let bytes = std::fs::read(folder.join("cut.o")).unwrap();
    for share in [10, 50, 90, 99] {
        std::fs::write(folder.join("cut.o"), &bytes[..bytes.len() * share / 100]).unwrap();
        let output = run(&mut cc(folder, &["cut.o", "-o", "a"])).unwrap();
        assert!(
            !output.status.success(),
            "{share} % of a file was taken for whole"
        );
        says(&output, &["cut.o"]);
        assert!(!folder.join("a").exists(), "half a program was left behind");
    }
}

#[test]
fn bitcode_newer_than_the_library() {
    let scratch = scratch("input").unwrap();
    // LLVM 19 cannot read the attributes of a slice parameter.
    let text = "#[unsafe(no_mangle)]\npub fn f(v: &[String]) -> usize {\n    v.iter().map(|s| s.len()).sum()\n}\n";
    std::fs::write(scratch.path().join("a.rs"), text).unwrap();
    let mut rustc = Command::new("rustc");
    clean(&mut rustc);
    let options = [
        "--edition=2024",
        "-O",
        "--crate-type=lib",
        "-Clinker-plugin-lto",
        "--emit=obj",
        "a.rs",
        "-o",
        "newer.o",
    ];
    run_ok(rustc.current_dir(scratch.path()).args(options)).unwrap();
    std::fs::write(scratch.path().join("a.c"), SOURCE).unwrap();
    let mut command = cc(scratch.path(), &["a.c", "newer.o", "-o", "a"]);
    command
        .env("HOLLOWAY_CLANG", installed("clang-19").unwrap())
        .env("HOLLOWAY_LLVM", libllvm_19().unwrap());
    let output = run(&mut command).unwrap();
    assert!(!output.status.success());
    says(&output, &["newer.o", "HOLLOWAY_LLVM"]);
}

#[test]
fn a_library_that_is_no_llvm() {
    let scratch = scratch("input").unwrap();
    std::fs::write(scratch.path().join("a.c"), SOURCE).unwrap();
    for library in ["/nowhere/libLLVM.so", "/etc/hostname"] {
        let output =
            run(cc(scratch.path(), &["a.c", "-o", "a"]).env("HOLLOWAY_LLVM", library)).unwrap();
        assert!(!output.status.success());
        says(&output, &[library]);
    }
}

#[test]
fn no_clang() {
    let scratch = scratch("input").unwrap();
    std::fs::write(scratch.path().join("a.c"), SOURCE).unwrap();
    let mut command = holloway_command(["cc", "a.c"]);
    fails(
        command
            .current_dir(scratch.path())
            .env("PATH", scratch.path()),
        OWN_ERROR,
        &["clang", "HOLLOWAY_CLANG"],
    );
    let mut command = holloway_command(["cc", "a.c"]);
    command
        .current_dir(scratch.path())
        .env("HOLLOWAY_CLANG", "/nowhere/clang");
    fails(&mut command, OWN_ERROR, &["/nowhere/clang"]);
}

#[test]
fn unknown_options_and_kinds() {
    for arguments in [
        &["--nonsense"][..],
        &["report", "--nonsense"],
        &["nonsense"],
        &["report", "--top", "many"],
    ] {
        let output = run(&mut holloway_command(arguments)).unwrap();
        assert_eq!(output.status.code(), Some(USAGE_ERROR), "{}", output.stderr);
        assert!(!output.stderr.contains("panicked"), "{}", output.stderr);
        assert!(output.stderr.starts_with("error: "), "{}", output.stderr);
        assert!(
            output.stderr.contains(arguments.last().unwrap()),
            "{}",
            output.stderr
        );
    }
    let scratch = scratch("input").unwrap();
    std::fs::write(scratch.path().join("a.c"), SOURCE).unwrap();
    for kind in ["loops=1", "loops=many", "nonsense"] {
        let output = run(&mut cc(
            scratch.path(),
            &["--collect", kind, "a.c", "-o", "a"],
        ))
        .unwrap();
        assert_eq!(output.status.code(), Some(USAGE_ERROR), "{}", output.stderr);
        says(&output, &[kind, "loops="]);
        assert!(!scratch.path().join("a").exists());
    }
}

#[test]
fn runs_that_are_not_there() {
    let scratch = scratch("input").unwrap();
    fails(&mut report(&["/nowhere/run"]), OWN_ERROR, &["/nowhere/run"]);
    let empty = scratch.path().to_str().unwrap();
    fails(&mut report(&[empty]), OWN_ERROR, &[empty]);
    // The user may have runs in the state directory.
    let mut without_runs = report(&[]);
    without_runs
        .current_dir(scratch.path())
        .env("XDG_STATE_HOME", scratch.path());
    fails(&mut without_runs, OWN_ERROR, &["run"]);
    let none = run(&mut holloway_command(["run", "--", "/nowhere/program"])).unwrap();
    assert_eq!(none.status.code(), Some(127), "{}", none.stderr);
    says(&none, &["/nowhere/program"]);
    let folder = run(holloway_command(["run", "--"]).arg(scratch.path())).unwrap();
    assert_eq!(folder.status.code(), Some(126), "{}", folder.stderr);
}

#[test]
fn a_program_that_is_not_woven() {
    let scratch = scratch("input").unwrap();
    let mut command = holloway_command(["run", "--", "true"]);
    let output = run(command.current_dir(scratch.path())).unwrap();
    assert!(!output.stderr.contains("panicked"), "{}", output.stderr);
    says(&output, &["true"]);
}

#[test]
fn no_line_tables() {
    let scratch = scratch("input").unwrap();
    std::fs::write(scratch.path().join("a.c"), SOURCE).unwrap();
    // `holloway cc` always asks clang for line tables. This bitcode is compiled without them.
    let mut clang = Command::new(installed("clang-22").unwrap());
    run_ok(
        clang
            .current_dir(scratch.path())
            .args(["-flto", "-O1", "-c", "a.c", "-o", "bare.o"]),
    )
    .unwrap();
    run_ok(&mut cc(scratch.path(), &["bare.o", "-o", "a"])).unwrap();
    let data = scratch.path().join("data");
    run_program(&mut Command::new(scratch.path().join("a")), Some(&data)).unwrap();
    let json = Report::of_run(&data).unwrap();
    assert_eq!(json.calls("work"), 1000, "counts need no line tables");
    let output = run_ok(report(&[]).arg(&data)).unwrap();
    let all = format!("{}{}", output.text(), output.stderr);
    assert!(
        all.contains("line tables") && all.contains("-g"),
        "nothing says why there are no places:\n{all}"
    );
}

#[test]
fn a_stripped_program_keeps_its_map() {
    let scratch = scratch("input").unwrap();
    let program = program(scratch.path());
    run_ok(Command::new("strip").arg("--strip-all").arg(&program)).unwrap();
    let data = scratch.path().join("data");
    assert_eq!(
        run_program(&mut Command::new(&program), Some(&data))
            .unwrap()
            .ending(),
        "exit 3"
    );
    assert_eq!(Report::of_run(&data).unwrap().calls("work"), 1000);
}

#[test]
fn a_profile_of_another_build_is_refused() {
    let scratch = scratch("input").unwrap();
    let program = program(scratch.path());
    let data = scratch.path().join("data");
    run_program(&mut Command::new(&program), Some(&data)).unwrap();
    std::fs::write(
        scratch.path().join("a.c"),
        SOURCE.replace("n % 3", "n % 3 && n % 5"),
    )
    .unwrap();
    run_ok(&mut cc(scratch.path(), &["-O1", "a.c", "-o", "a"])).unwrap();
    let output = run(report(&[]).arg(&data)).unwrap();
    assert_eq!(
        output.status.code(),
        Some(OWN_ERROR),
        "{}{}",
        output.stderr,
        output.text()
    );
    says(&output, &["build"]);
    assert!(
        !output.text().contains("work"),
        "paths of another build were shown:\n{}",
        output.text()
    );
}

#[test]
fn cut_and_flipped_profiles_and_maps() {
    let scratch = scratch("input").unwrap();
    let data = recorded(scratch.path());
    let raw_data = scratch.path().join("raw");
    run_program(&mut Command::new(scratch.path().join("a")), Some(&raw_data)).unwrap();
    let intact = Report::of_run(&data).unwrap().path_executions();
    for (folder, extension) in [(&data, "hwp"), (&data, "hwm"), (&raw_data, "hwp")] {
        let file = only_file(folder, extension);
        let bytes = std::fs::read(&file).unwrap();
        for length in [
            0,
            1,
            7,
            8,
            40,
            bytes.len() / 3,
            bytes.len() / 2,
            bytes.len() - 1,
        ] {
            damaged(folder, &file, &bytes[..length], intact);
        }
        for at in (0..bytes.len().min(3000)).step_by(bytes.len().min(3000) / 60 + 1) {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << (at % 8);
            damaged(folder, &file, &flipped, intact);
        }
        std::fs::write(&file, &bytes).unwrap();
    }
    assert_eq!(Report::of_run(&data).unwrap().path_executions(), intact);
}

/// Checks that a report of damaged data fails with one line, or shows the intact data. It must
/// never panic or show more counts than the intact profile.
fn damaged(folder: &Path, file: &Path, bytes: &[u8], intact: u64) {
    std::fs::write(file, bytes).unwrap();
    let output = run(report(&["--format", "json"]).arg(folder)).unwrap();
    assert!(!output.stderr.contains("panicked"), "{}", output.stderr);
    match output.status.code() {
        Some(0) => {
            let report = Report::parse(&output.text()).unwrap();
            let unsure = file.extension().unwrap() == "hwp" && bytes.starts_with(b"HLWRAWPR");
            assert!(
                unsure || report.path_executions() <= intact,
                "more paths than ever ran"
            );
        }
        Some(OWN_ERROR) => says(&output, &[]),
        _ => panic!("{}: {}", output.ending(), output.stderr),
    }
}

#[test]
fn cut_and_flipped_loops_traces_and_times() {
    let scratch = scratch("input").unwrap();
    std::fs::write(scratch.path().join("a.c"), SOURCE).unwrap();
    for (kind, extension) in [("loops", "hwl"), ("trace", "hwt"), ("times", "hwv")] {
        let program = scratch.path().join(kind);
        let mut command = cc(scratch.path(), &["-O1", "-g", "a.c", "-o", kind]);
        run_ok(command.env("HOLLOWAY_COLLECT", kind)).unwrap();
        let [collected, spooled] =
            ["collected", "spooled"].map(|how| scratch.path().join(format!("{kind}-{how}")));
        let mut command = holloway_command(["run", "--no-report", "-o"]);
        run(command.arg(&collected).arg("--").arg(&program)).unwrap();
        run_program(&mut Command::new(&program), Some(&spooled)).unwrap();
        for (folder, extension) in [(&collected, extension), (&spooled, "hwp")] {
            let file = only_file(folder, extension);
            let bytes = std::fs::read(&file).unwrap();
            let intact = words(folder, kind).expect("an intact run is read");
            let StreamContent {
                paths: intact_paths,
                is_said,
            } = intact;
            assert!(
                intact_paths >= 2000 && !is_said,
                "{intact_paths} paths of {kind}"
            );
            for length in [
                0,
                1,
                8,
                100,
                bytes.len() / 3,
                bytes.len() / 2,
                bytes.len() - 1,
            ] {
                damaged_stream(
                    folder,
                    &file,
                    &bytes[..length.min(bytes.len())],
                    kind,
                    intact_paths,
                );
            }
            // Ring files are sparse: their data is at the beginning and in the head.
            for at in (0..bytes.len().min(9000)).step_by(bytes.len().min(9000) / 40 + 1) {
                let mut flipped = bytes.clone();
                flipped[at] ^= 1 << (at % 8);
                damaged_stream(folder, &file, &flipped, kind, intact_paths);
            }
            std::fs::write(&file, &bytes).unwrap();
            assert_eq!(words(folder, kind), Some(intact), "mended");
        }
    }
}

/// The reported content of a run's streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct StreamContent {
    /// Number of paths.
    paths: u64,
    /// Whether damage or missing words are reported.
    is_said: bool,
}

/// Reads the streams of a run with all commands that show them. Returns `None` if the run is
/// refused with one line.
fn words(folder: &Path, kind: &str) -> Option<StreamContent> {
    let asked = |arguments: &[&str]| -> Option<serde_json::Value> {
        let mut command = holloway_command(arguments);
        let output = run(command.arg(folder).args(["--format", "json"])).unwrap();
        assert!(!output.stderr.contains("panicked"), "{}", output.stderr);
        match output.status.code() {
            Some(0) => Some(serde_json::from_str(&output.text()).unwrap()),
            Some(OWN_ERROR) => {
                says(&output, &[]);
                None
            }
            _ => panic!("{arguments:?}: {}: {}", output.ending(), output.stderr),
        }
    };
    let is_damaged = |of: &serde_json::Value| !of["damage"].as_array().expect("a list").is_empty();
    let number = |value: &serde_json::Value| value.as_u64().expect("a number");
    if kind != "trace" {
        let (view, part, of) = match kind {
            "loops" => (&["loops", "--stats"][..], "stats", "words"),
            _ => (&["variation"][..], "samples", "samples"),
        };
        let answer = asked(&[&["report", "--view"], view].concat())?;
        let actual = StreamContent {
            paths: number(&answer[part][of]),
            is_said: is_damaged(&answer),
        };
        return Some(actual);
    }
    asked(&["trace", "cat"]);
    asked(&["trace", "loops", "3"]);
    let answer = asked(&["trace", "stats"])?;
    let streams = answer["streams"].as_array().expect("streams");
    let paths = streams.iter().map(|one| number(&one["answer"]["paths"]));
    Some(StreamContent {
        paths: paths.sum(),
        is_said: is_damaged(&answer) || streams.iter().any(is_damaged),
    })
}

/// Checks that damaged streams are refused with one line, or that their intact part is shown with a
/// note. Nothing may panic.
fn damaged_stream(folder: &Path, file: &Path, bytes: &[u8], kind: &str, intact: u64) {
    std::fs::write(file, bytes).unwrap();
    let Some(StreamContent { paths, is_said }) = words(folder, kind) else {
        return;
    };
    // Words in a ring have no checksum, but sealed data has.
    if !bytes.starts_with(b"HLWRAWPR") {
        let is_all = paths == intact;
        assert!(
            is_all || is_said && paths < intact,
            "{paths} paths of {intact}"
        );
    }
}

#[test]
fn an_unwritable_data_directory() {
    let scratch = scratch("input").unwrap();
    let program = program(scratch.path());
    let plain_file = scratch.path().join("file");
    std::fs::write(&plain_file, "").unwrap();
    for place in [plain_file.join("data"), PathBuf::from("/proc/holloway")] {
        let alone = run_program(&mut Command::new(&program), Some(&place)).unwrap();
        assert_eq!(
            (alone.ending().as_str(), alone.text().as_str()),
            ("exit 3", "832501\n"),
            "{}",
            alone.stderr
        );
        let mut command = holloway_command(["run", "-o"]);
        let output = run(command.arg(&place).arg("--").arg(&program)).unwrap();
        assert_eq!(output.status.code(), Some(OWN_ERROR), "{}", output.stderr);
        says(&output, &[place.to_str().unwrap()]);
        assert!(
            !output.text().contains("832501"),
            "a run that can't be recorded isn't started"
        );
    }
}

/// A file-size limit of 0 needs no privilege. The kernel would send SIGXFSZ for a write beyond it.
#[test]
fn no_room_by_a_file_size_limit() {
    let scratch = scratch("input").unwrap();
    let program = program(scratch.path());
    let data = scratch.path().join("data");
    for blocks in ["0", "1", "8"] {
        let mut command = Command::new("sh");
        command
            .args(["-c", &format!("ulimit -f {blocks} && exec \"$0\"")])
            .arg(&program);
        let output = run_program(&mut command, Some(&data)).unwrap();
        assert_eq!(
            (output.ending().as_str(), output.text().as_str()),
            ("exit 3", "832501\n"),
            "{}",
            output.stderr
        );
    }
}

/// A file system of 16 KiB is full from the start or becomes full. The program runs normally, and
/// the report says what is lost.
#[test]
fn a_full_disk() {
    let scratch = scratch("input").unwrap();
    let program = program(scratch.path());
    let disk = scratch.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    for free_pages in 0..4 {
        let script = "mount -t tmpfs -o size=16k none \"$1\" && \
            head -c $((4096 * (4 - $2))) /dev/zero > \"$1/filler\" && \
            HOLLOWAY_DATA=\"$1/data\" \"$0\"; status=$?; \
            \"$3\" report --format json \"$1/data\" >&2; echo \"report $?\"; exit $status";
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--mount", "sh", "-c", script]);
        command
            .arg(&program)
            .arg(&disk)
            .arg(free_pages.to_string())
            .arg(holloway());
        clean(&mut command);
        let output = run(&mut command).unwrap();
        assert_eq!(
            output.ending(),
            "exit 3",
            "{free_pages} pages free: {}",
            output.stderr
        );
        assert!(output.text().starts_with("832501\n"), "{}", output.text());
        assert!(!output.stderr.contains("panicked"), "{}", output.stderr);
        let status = output
            .text()
            .lines()
            .find_map(|l| l.strip_prefix("report ").map(str::to_owned))
            .unwrap();
        assert!(
            status == "0" || status == OWN_ERROR.to_string(),
            "the report ended with {status}"
        );
    }
}

#[test]
fn a_closed_pipe_is_no_error() {
    let scratch = scratch("input").unwrap();
    let data = recorded(scratch.path());
    let script = "\"$0\" report --top 1000 \"$1\"; echo $? >&2";
    let line = format!("({script}) | head -c 1 > /dev/null");
    let mut command = Command::new("bash");
    command.args(["-c", &line]).arg(holloway()).arg(&data);
    clean(&mut command);
    let output = run(&mut command).unwrap();
    assert_eq!(output.stderr.trim(), "0");
}

#[test]
fn an_earlier_run_stays() {
    let scratch = scratch("input").unwrap();
    let data = recorded(scratch.path());
    let before = profiles(&data).unwrap();
    let mut command = holloway_command(["run", "--no-report", "-o"]);
    let output = run(command.arg(&data).arg("--").arg(scratch.path().join("a"))).unwrap();
    for file in before {
        assert!(
            file.exists(),
            "{} is gone after: {}",
            file.display(),
            output.stderr
        );
    }
    if output.ending() != "exit 3" {
        says(&output, &[data.to_str().unwrap()]);
    }
}
