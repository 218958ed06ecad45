//! `holloway report`: how it finds runs, and how it handles damage, other builds, and closed pipes.

use crate::cli_support;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::OnceLock;

use holloway_format::unpack_map;

use crate::cli_support::{Project, holloway_in};

const PROGRAM: &str = r#"
#[inline(never)]
fn even(n: u64) -> bool { if std::hint::black_box(n) % 2 == 0 { true } else { false } }
#[inline(never)]
fn unused() { println!("{}", std::env::args().count()); }
fn main() {
    let evens = (0..100).filter(|&n| even(n)).count();
    if evens == 1 { unused(); }
    println!("{evens}");
}
"#;

/// A project with a recorded run, and the run's directory. The first call makes both for all tests
/// of this file.
fn recorded() -> (&'static Project, PathBuf) {
    static PROJECT: OnceLock<Project> = OnceLock::new();
    let project = PROJECT.get_or_init(|| {
        let project = Project::binary("", PROGRAM);
        project.cargo_holloway("run --no-report").ok();
        project
    });
    (project, project.runs().remove(0))
}

/// Copies the recorded run into a project, for a test that damages it. Returns the run's directory.
fn copy_recorded_run(project: &Project) -> PathBuf {
    let (_, run) = recorded();
    let to = project.path().join("run");
    std::fs::create_dir(&to).unwrap();
    for entry in std::fs::read_dir(run).unwrap() {
        let from = entry.unwrap().path();
        std::fs::copy(&from, to.join(from.file_name().unwrap())).unwrap();
    }
    to
}

fn file_with_extension(run: &Path, extension: &str) -> PathBuf {
    let mut files = std::fs::read_dir(run)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    files
        .find(|file| file.extension().is_some_and(|e| e == extension))
        .unwrap()
}

#[test]
fn columns_sets_the_width_of_a_pipe() {
    let (project, _) = recorded();
    let widest = |columns: &str, view: &str| {
        let call = project.holloway(&format!("report --function even --view {view}"));
        let text = call.env("COLUMNS", columns).ok().stdout;
        text.lines().map(|line| line.chars().count()).max().unwrap()
    };
    for view in ["paths", "functions", "edges", "blocks", "lines"] {
        let whole = widest("", view);
        assert!(whole > 60, "{view}");
        assert!(widest("60", view) <= 60, "{view}");
        assert!(widest("8", view) <= 40, "{view}");
        assert_eq!(widest("0", view), whole, "{view}");
    }
}

#[test]
fn the_latest_run_is_found_from_a_subdirectory() {
    let (project, run) = recorded();
    assert_eq!(
        holloway_in(&project.path().join("src"), "report --format json")
            .ok()
            .json()
            .calls("even"),
        100
    );
    let by_name = project.holloway("report --format json").arg(&run).ok();
    assert_eq!(by_name.json().calls("even"), 100);
    let by_profile = project
        .holloway("report --format json")
        .arg(file_with_extension(&run, "hwp"))
        .ok();
    assert_eq!(by_profile.json().calls("even"), 100);
    assert_eq!(
        project
            .cargo_holloway("report --format json")
            .ok()
            .json()
            .calls("even"),
        100
    );
}

#[test]
fn the_newest_of_two_latest_runs_is_shown() {
    let (_, recorded) = recorded();
    let project = Project::new(&[
        ("Cargo.toml", &cli_support::package("app")),
        ("src/main.rs", "fn main() {}"),
        (".cargo/config.toml", "[build]\ntarget-dir = \"elsewhere\""),
    ]);
    let add_run = |target: &str, name: &str| {
        let runs = project.path().join(target).join("holloway/runs");
        let run = runs.join(name);
        std::fs::create_dir_all(&run).unwrap();
        for entry in std::fs::read_dir(&recorded).unwrap() {
            let from = entry.unwrap().path();
            std::fs::copy(&from, run.join(from.file_name().unwrap())).unwrap();
        }
        std::fs::remove_file(runs.join("latest")).ok();
        std::os::unix::fs::symlink(name, runs.join("latest")).unwrap();
    };
    let notes = |directory: &str| {
        let result = holloway_in(&project.path().join(directory), "report").ok();
        result
            .stderr
            .replace(&project.path().display().to_string(), "…")
    };
    let (first, second, third) = (
        "20260101-000000-app",
        "20260101-000001-app",
        "20260101-000002-app",
    );
    add_run("elsewhere", second);
    assert_eq!(notes("src"), "");
    add_run("target", first);
    let note = |shown: &str, other: &str| {
        format!("holloway: note: this is …/{shown}, the newest run; another place has …/{other}\n")
    };
    let (near, far) = ("target/holloway/runs", "elsewhere/holloway/runs");
    let expect = note(&format!("{far}/{second}"), &format!("{near}/{first}"));
    assert_eq!(notes("src"), expect);
    add_run("target", third);
    let expect = note(&format!("{near}/{third}"), &format!("{far}/{second}"));
    assert_eq!(notes("src"), expect);
    // The environment overrides the configuration. Without either, the target directories
    // of the workspace and of the current directory are searched.
    let chosen = project.holloway("report").env("CARGO_TARGET_DIR", "target");
    assert_eq!(chosen.ok().stderr, "");
    std::fs::remove_file(project.path().join(".cargo/config.toml")).unwrap();
    add_run("src/target", first);
    let expect = note(
        &format!("{near}/{third}"),
        &format!("src/target/holloway/runs/{first}"),
    );
    assert_eq!(notes("src"), expect);
}

#[test]
fn a_fifo_does_not_block_a_report() {
    let project = Project::new(&[("src/main.rs", "")]);
    let run = copy_recorded_run(&project);
    let fifo = |path: &Path| {
        std::fs::remove_file(path).ok();
        let made = std::process::Command::new("mkfifo").arg(path).status();
        assert!(made.unwrap().success());
    };
    fifo(&run.join("0-x.hwp"));
    project
        .holloway("report run")
        .ok()
        .says("0-x.hwp: not a regular file");
    let map = file_with_extension(&run, "hwm");
    fifo(&map);
    project
        .holloway("report run")
        .exits(125)
        .fails_with("not a regular file");

    let project = Project::binary("", PROGRAM);
    project.cargo_holloway("run --no-report").ok();
    // A source file that is a FIFO.
    fifo(&project.path().join("src/main.rs"));
    project.holloway("report --view lines").ok().says("main.rs");
    // A program that is a FIFO.
    std::fs::remove_file(file_with_extension(&project.runs()[0], "hwm")).unwrap();
    fifo(&project.built("debug", "app"));
    project
        .holloway("report")
        .exits(125)
        .fails_with("app: not a regular file");
}

#[test]
fn every_view_sort_and_filter_shows_the_function() {
    let (project, _) = recorded();
    let sorts = ["", "--sort count", "--sort instructions"];
    for view in ["paths", "functions", "blocks", "edges", "lines"] {
        for sort in sorts {
            let report = format!("report --view {view} {sort} --top 50");
            let report = project.holloway(&report);
            if view == "lines" && !sort.is_empty() {
                let refusal =
                    "--sort goes with --view paths, functions, blocks or edges, not with lines";
                report.exits(2).fails_with(refusal);
                continue;
            }
            let result = report.ok();
            result.says(if view == "lines" { "main.rs" } else { "even" });
            assert!(
                !result.stdout.contains('\x1b'),
                "colors in a pipe\n{result}"
            );
        }
    }
    let by_time = project.holloway("report --view paths --sort time");
    by_time
        .exits(2)
        .fails_with("--sort time goes with --view functions, not with paths");
    for filter in [
        "--crate app",
        "--file main.rs",
        "--file !*.none.rs",
        "--file src/*.rs",
        "--workspace",
    ] {
        for view in ["paths", "functions", "blocks", "edges", "lines"] {
            let report = project
                .holloway(&format!("report --view {view} {filter}"))
                .ok();
            report.says(if view == "lines" { "main.rs" } else { "even" });
        }
    }
    let all_code = project.holloway("report --view paths --all-code");
    all_code
        .exits(2)
        .fails_with("--all-code goes with --view lines, --uncovered, or --format json");
    project.holloway("report --color always").ok().says("\x1b[");
    let filtered = project.holloway("report --function even").ok();
    assert!(!filtered.stdout.contains("app::main"), "{filtered}");
    project
        .holloway("report --function unused")
        .ok()
        .says("unused");
}

/// A typo must not look like code that never ran: it is one line, and nothing on stdout.
#[test]
fn a_name_that_no_code_has_is_a_usage_error() {
    let (project, run) = recorded();
    let refuses = |words: &str, expected: &str| {
        let result = project.holloway(words).exits(2);
        assert!(result.stdout.is_empty(), "{result}");
        result.fails_with(expected);
    };
    let no_function = "no function matches evn: `app::even`?";
    let no_file = "no file of this program matches --file src/mian.rs: `src/main.rs`";
    for words in [
        "",
        "--view functions",
        "--view lines",
        "--uncovered",
        "--format json",
    ] {
        refuses(&format!("report {words} --function evn"), no_function);
        refuses(&format!("report {words} --file src/mian.rs"), no_file);
        let no_crate = "no code belongs to --crate no_such; crates of this program: ";
        refuses(&format!("report {words} --crate no_such"), no_crate);
    }
    refuses("report --function evn#3fa2", no_function);
    let run = run.display();
    refuses(&format!("overlap {run} {run} --function evn"), no_function);
    refuses(
        &format!("overlap {run} {run} --function evn --format json"),
        no_function,
    );
    // A function that never ran is a function.
    project.holloway("report --function unused").ok();
    // Of several files, some may not exist.
    let result = project
        .holloway("report --view functions --file src/main.rs --file nosuch.rs")
        .ok();
    result
        .says("app::even")
        .complains("warning: no file of this program matches --file nosuch.rs: ");
}

#[test]
fn several_views_have_one_head() {
    let (project, _) = recorded();
    let report = project
        .holloway("report --view functions,branches --view lines")
        .ok();
    for once in [
        "CPU time\n",
        "Coverage\n",
        "Hottest functions",
        "Hardest branches",
    ] {
        assert_eq!(report.stdout.matches(once).count(), 1, "{once}\n{report}");
    }
    project
        .holloway("report --view functions,branches --format json")
        .exits(2)
        .fails_with("--format json writes one document: ask for one view");
    project
        .holloway("report --view functions,loops")
        .exits(2)
        .fails_with("loops and variation are reports of their own: ask for one view");
}

/// Paths of programs are any bytes.
#[test]
fn a_program_may_lie_anywhere() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let (project, _) = recorded();
    let app = project.built("debug", "app");
    let places = Project::new(&[("file", "")]);
    for name in [
        &b"new\nline"[..],
        b"no \xff UTF-8",
        b"four \\012 characters",
    ] {
        let directory = places.path().join(OsStr::from_bytes(name));
        std::fs::create_dir(&directory).unwrap();
        // Not a copy: while a file is open for writing, another test may start a process, which
        // keeps it open for a moment. A program that is open for writing cannot be run.
        std::fs::hard_link(&app, directory.join("app")).unwrap();
        let reports = |run: &str| {
            let report = holloway_in(&directory, "report").arg(run).ok();
            report.says("even");
        };
        holloway_in(&directory, "run --no-report -o first -- ./app").ok();
        reports("first");
        let by_hand = std::process::Command::new("./app")
            .current_dir(&directory)
            .env("HOLLOWAY_DATA", "second")
            .status();
        assert!(by_hand.unwrap().success());
        reports("second");
    }
}

#[test]
fn a_wrong_command_line_is_a_usage_error() {
    let (project, _) = recorded();
    for words in [
        "report --view nonsense",
        "report --top x",
        "report --function (",
        "report --nonsense",
        "nonsense",
    ] {
        let result = project.holloway(words).exits(2);
        assert!(result.stderr.starts_with("error: "), "{result}");
    }
}

#[test]
fn a_missing_run_is_reported_with_advice() {
    let project = Project::new(&[("empty/file", "")]);
    project
        .holloway("report")
        .exits(125)
        .fails_with("cargo holloway run");
    project
        .holloway("report nowhere")
        .exits(125)
        .fails_with("nowhere");
    project
        .holloway("report empty")
        .exits(125)
        .fails_with("no .hwp file there");
}

#[test]
fn a_damaged_profile_is_named_and_the_rest_is_shown() {
    let project = Project::new(&[]);
    let run = copy_recorded_run(&project);
    let good = file_with_extension(&run, "hwp");
    let bytes = std::fs::read(&good).unwrap();
    std::fs::write(run.join("0-short.hwp"), &bytes[..bytes.len() / 2]).unwrap();
    std::fs::write(run.join("0-junk.hwp"), b"junk").unwrap();
    std::fs::write(run.join("0-empty.hwp"), b"").unwrap();
    let result = project.holloway("report run").ok();
    result.says("even");
    for name in ["0-short.hwp", "0-junk.hwp", "0-empty.hwp"] {
        assert!(
            result.stdout.contains(name) || result.stderr.contains(name),
            "{name} is not named\n{result}"
        );
    }
    let junk = project.holloway("report run/0-junk.hwp").exits(125);
    junk.fails_with("0-junk.hwp: not a holloway profile");
    std::fs::remove_file(good).unwrap();
    project.holloway("report run").ok().says("damaged");
    std::fs::remove_file(run.join("0-short.hwp")).unwrap();
    project
        .holloway("report run")
        .exits(125)
        .fails_with("cannot read any profile in run");
}

#[test]
fn truncated_and_changed_files_give_a_report_or_one_line() {
    let project = Project::new(&[]);
    let run = copy_recorded_run(&project);
    for extension in ["hwp", "hwm"] {
        let file = file_with_extension(&run, extension);
        let bytes = std::fs::read(&file).unwrap();
        for part in 0..12 {
            let offset = bytes.len() * part / 12;
            let mut changed = bytes.clone();
            changed[offset] ^= 0x41;
            for damaged in [&bytes[..offset], &changed] {
                std::fs::write(&file, damaged).unwrap();
                let result = project.holloway("report run").result();
                match result.code {
                    Some(0) => assert!(!result.stdout.is_empty(), "{result}"),
                    _ => assert_eq!(
                        (result.code, result.stderr.lines().count()),
                        (Some(125), 1),
                        "{result}"
                    ),
                }
            }
        }
        std::fs::write(&file, bytes).unwrap();
    }
}

#[test]
fn a_map_without_a_complete_function_is_an_error() {
    let project = Project::new(&[]);
    let run = copy_recorded_run(&project);
    let file = file_with_extension(&run, "hwm");
    let bytes = unpack_map(&std::fs::read(&file).unwrap()).unwrap();
    // The map ends after its head, before the first function's record.
    std::fs::write(&file, &bytes[..100]).unwrap();
    let result = project.holloway("report run").exits(125);
    result.fails_with("no function of run/");
    assert_eq!(result.stdout, "");
}

#[test]
fn a_profile_of_another_build_is_refused_by_name() {
    let project = Project::binary("", PROGRAM);
    project.cargo_holloway("run --no-report").ok();
    let run = project.runs().remove(0);
    // A run that contains its map stays readable. A run without its map is readable only while the
    // program is unchanged.
    std::fs::remove_file(file_with_extension(&run, "hwm")).unwrap();
    let report = || project.holloway("report --format json").ok().json();
    assert_eq!(report().calls("even"), 100);
    // A report stores the map again.
    let program = project.built("debug", "app");
    std::fs::rename(&program, project.path().join("away")).unwrap();
    assert_eq!(report().calls("even"), 100);
    std::fs::rename(project.path().join("away"), &program).unwrap();
    std::fs::remove_file(file_with_extension(&run, "hwm")).unwrap();
    project.write(
        "src/main.rs",
        &PROGRAM.replace(
            "println!(\"{evens}\")",
            "if evens > 3 { println!(\"{evens}\") }",
        ),
    );
    project.cargo_holloway("build").ok();
    let refused = project.holloway("report").exits(125);
    refused
        .fails_with("of build")
        .complains("app")
        .complains("record it again");
    std::fs::remove_file(project.built("debug", "app")).unwrap();
    project.holloway("report").exits(125).fails_with("app");
}

#[test]
fn a_closed_pipe_is_no_error() {
    let (project, _) = recorded();
    for words in [
        "report --top 100000",
        "report --format json",
        "completions bash",
        "man",
        "doctor",
        "show-env",
        "--help",
    ] {
        let mut call = project.holloway(words);
        let mut child = call
            .command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() && stderr.is_empty(),
            "{words}: {:?} {stderr}",
            output.status
        );
    }
}
