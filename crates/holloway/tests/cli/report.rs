//! `holloway report`: finding runs, damage, other builds, and closed pipes.

use crate::cli_support;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::OnceLock;

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

/// A project with a recorded run, made once for all tests of this file.
fn recorded() -> (&'static Project, PathBuf) {
    static PROJECT: OnceLock<Project> = OnceLock::new();
    let project = PROJECT.get_or_init(|| {
        let project = Project::binary("", PROGRAM);
        project.cargo_holloway("run --no-report").ok();
        project
    });
    (project, project.runs().remove(0))
}

/// A copy of the recorded run, for a test that damages it.
fn copy(place: &Project) -> PathBuf {
    let (_, run) = recorded();
    let to = place.path().join("run");
    std::fs::create_dir(&to).unwrap();
    for entry in std::fs::read_dir(run).unwrap() {
        let from = entry.unwrap().path();
        std::fs::copy(&from, to.join(from.file_name().unwrap())).unwrap();
    }
    to
}

fn with_extension(run: &Path, extension: &str) -> PathBuf {
    let mut files = std::fs::read_dir(run)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    files
        .find(|file| file.extension().is_some_and(|e| e == extension))
        .unwrap()
}

#[test]
fn the_latest_run_is_found_from_below() {
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
    let one_file = project
        .holloway("report --format json")
        .arg(with_extension(&run, "hwp"))
        .ok();
    assert_eq!(one_file.json().calls("even"), 100);
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
fn the_newest_run_of_cargos_target_directory_and_the_nearest_is_shown() {
    let (_, recorded) = recorded();
    let place = Project::new(&[
        ("Cargo.toml", &cli_support::package("app")),
        ("src/main.rs", "fn main() {}"),
        (".cargo/config.toml", "[build]\ntarget-dir = \"elsewhere\""),
    ]);
    let put = |target: &str, name: &str| {
        let runs = place.path().join(target).join("holloway/runs");
        let run = runs.join(name);
        std::fs::create_dir_all(&run).unwrap();
        for entry in std::fs::read_dir(&recorded).unwrap() {
            let from = entry.unwrap().path();
            std::fs::copy(&from, run.join(from.file_name().unwrap())).unwrap();
        }
        std::fs::remove_file(runs.join("latest")).ok();
        std::os::unix::fs::symlink(name, runs.join("latest")).unwrap();
    };
    let says = |directory: &str| {
        let done = holloway_in(&place.path().join(directory), "report").ok();
        done.stderr
            .replace(&place.path().display().to_string(), "…")
    };
    let (first, second, third) = (
        "20260101-000000-app",
        "20260101-000001-app",
        "20260101-000002-app",
    );
    put("elsewhere", second);
    assert_eq!(says("src"), "");
    put("target", first);
    let note = |shown: &str, other: &str| {
        format!("holloway: note: this is …/{shown}, the newest run; another place has …/{other}\n")
    };
    let (near, far) = ("target/holloway/runs", "elsewhere/holloway/runs");
    let expect = note(&format!("{far}/{second}"), &format!("{near}/{first}"));
    assert_eq!(says("src"), expect);
    put("target", third);
    let expect = note(&format!("{near}/{third}"), &format!("{far}/{second}"));
    assert_eq!(says("src"), expect);
    // The environment goes before the configuration, and the workspace's directory before none.
    let chosen = place.holloway("report").env("CARGO_TARGET_DIR", "target");
    assert_eq!(chosen.ok().stderr, "");
    std::fs::remove_file(place.path().join(".cargo/config.toml")).unwrap();
    put("src/target", first);
    let expect = note(
        &format!("{near}/{third}"),
        &format!("src/target/holloway/runs/{first}"),
    );
    assert_eq!(says("src"), expect);
}

#[test]
fn a_fifo_is_not_waited_for() {
    let place = Project::new(&[("src/main.rs", "")]);
    let run = copy(&place);
    let fifo = |path: &Path| {
        std::fs::remove_file(path).ok();
        let made = std::process::Command::new("mkfifo").arg(path).status();
        assert!(made.unwrap().success());
    };
    fifo(&run.join("0-x.hwp"));
    place
        .holloway("report run")
        .ok()
        .says("0-x.hwp: not a regular file");
    let map = with_extension(&run, "hwm");
    fifo(&map);
    place
        .holloway("report run")
        .exits(125)
        .fails_with("not a regular file");

    let project = Project::binary("", PROGRAM);
    project.cargo_holloway("run --no-report").ok();
    // Its source.
    fifo(&project.path().join("src/main.rs"));
    project.holloway("report --view lines").ok().says("main.rs");
    // Its program.
    std::fs::remove_file(with_extension(&project.runs()[0], "hwm")).unwrap();
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
            if matches!(view, "edges" | "lines") && !sort.is_empty() {
                let refusal =
                    format!("--sort goes with --view paths, functions or blocks, not with {view}");
                report.exits(2).fails_with(&refusal);
                continue;
            }
            let done = report.ok();
            done.says(if view == "lines" { "main.rs" } else { "even" });
            assert!(
                !done.stdout.contains('\x1b'),
                "no colours into a pipe\n{done}"
            );
        }
    }
    project.holloway("report --color always").ok().says("\x1b[");
    let filtered = project.holloway("report --function even").ok();
    assert!(!filtered.stdout.contains("app::main"), "{filtered}");
    project
        .holloway("report --function unused")
        .ok()
        .says("unused");
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
        let done = project.holloway(words).exits(2);
        assert!(done.stderr.starts_with("error: "), "{done}");
    }
}

#[test]
fn no_run_is_said_with_the_way_out() {
    let place = Project::new(&[("empty/file", "")]);
    place
        .holloway("report")
        .exits(125)
        .fails_with("cargo holloway run");
    place
        .holloway("report nowhere")
        .exits(125)
        .fails_with("nowhere");
    place
        .holloway("report empty")
        .exits(125)
        .fails_with("no .hwp file there");
}

#[test]
fn a_damaged_profile_is_named_and_the_rest_is_shown() {
    let place = Project::new(&[]);
    let run = copy(&place);
    let good = with_extension(&run, "hwp");
    let bytes = std::fs::read(&good).unwrap();
    std::fs::write(run.join("0-short.hwp"), &bytes[..bytes.len() / 2]).unwrap();
    std::fs::write(run.join("0-junk.hwp"), b"junk").unwrap();
    std::fs::write(run.join("0-empty.hwp"), b"").unwrap();
    let done = place.holloway("report run").ok();
    done.says("even");
    for name in ["0-short.hwp", "0-junk.hwp", "0-empty.hwp"] {
        assert!(
            done.stdout.contains(name) || done.stderr.contains(name),
            "{name} is not named\n{done}"
        );
    }
    let junk = place.holloway("report run/0-junk.hwp").exits(125);
    junk.fails_with("0-junk.hwp: not a holloway profile");
    std::fs::remove_file(good).unwrap();
    place.holloway("report run").ok().says("damaged");
    std::fs::remove_file(run.join("0-short.hwp")).unwrap();
    place
        .holloway("report run")
        .exits(125)
        .fails_with("cannot read any profile in run");
}

#[test]
fn every_cut_and_flipped_byte_gives_a_report_or_one_line() {
    let place = Project::new(&[]);
    let run = copy(&place);
    for extension in ["hwp", "hwm"] {
        let file = with_extension(&run, extension);
        let bytes = std::fs::read(&file).unwrap();
        for part in 0..12 {
            let at = bytes.len() * part / 12;
            let mut flipped = bytes.clone();
            flipped[at] ^= 0x41;
            for spoiled in [&bytes[..at], &flipped] {
                std::fs::write(&file, spoiled).unwrap();
                let done = place.holloway("report run").done();
                match done.code {
                    Some(0) => assert!(!done.stdout.is_empty(), "{done}"),
                    _ => assert_eq!(
                        (done.code, done.stderr.lines().count()),
                        (Some(125), 1),
                        "{done}"
                    ),
                }
            }
        }
        std::fs::write(&file, bytes).unwrap();
    }
}

#[test]
fn a_map_without_a_whole_function_gives_no_table_of_zeros() {
    let place = Project::new(&[]);
    let run = copy(&place);
    let file = with_extension(&run, "hwm");
    let bytes = std::fs::read(&file).unwrap();
    // After the head, before the first function's record.
    std::fs::write(&file, &bytes[..100]).unwrap();
    let done = place.holloway("report run").exits(125);
    done.fails_with("no function can be read of run/");
    assert_eq!(done.stdout, "");
}

#[test]
fn a_profile_of_another_build_is_refused_by_name() {
    let project = Project::binary("", PROGRAM);
    project.cargo_holloway("run --no-report").ok();
    let run = project.runs().remove(0);
    // With its map beside it a run stays readable for good, without it only as long as the program
    // is the same.
    std::fs::remove_file(with_extension(&run, "hwm")).unwrap();
    let report = || project.holloway("report --format json").ok().json();
    assert_eq!(report().calls("even"), 100);
    // A report stores the map again.
    let program = project.built("debug", "app");
    std::fs::rename(&program, project.path().join("away")).unwrap();
    assert_eq!(report().calls("even"), 100);
    std::fs::rename(project.path().join("away"), &program).unwrap();
    std::fs::remove_file(with_extension(&run, "hwm")).unwrap();
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
fn a_reader_that_goes_away_is_no_error() {
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
