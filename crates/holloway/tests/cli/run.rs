//! `holloway run`: exit codes, signals, and the place of the data.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::OnceLock;

use crate::cli_support::Project;

const PROGRAM: &str = r#"
use std::io::Write as _;
#[inline(never)]
fn step(n: u64) -> u64 { if std::hint::black_box(n) & 1 == 0 { n / 2 } else { 3 * n + 1 } }
fn main() {
    let word = std::env::args().nth(1).unwrap_or_default();
    let mut n = 27;
    while n != 1 { n = step(n); }
    match word.as_str() {
        "code" => std::process::exit(7),
        "abort" => std::process::abort(),
        "wait" => {
            println!("waiting");
            std::io::stdout().flush().unwrap();
            loop { std::thread::sleep(std::time::Duration::from_millis(10)); step(1); }
        }
        _ => println!("done"),
    }
}
"#;

/// A project with the built program, made once for all tests of this file.
fn built() -> (&'static Project, PathBuf) {
    static PROJECT: OnceLock<Project> = OnceLock::new();
    let project = PROJECT.get_or_init(|| {
        let project = Project::binary("", PROGRAM);
        project.cargo_holloway("build").ok();
        project
    });
    (project, project.built("debug", "app"))
}

#[test]
fn the_report_follows_the_programs_output() {
    let (_, app) = built();
    let place = Project::new(&[]);
    let done = place.holloway("run -o here --").arg(&app).ok();
    done.says("done").says("step");
    assert!(done.stdout.starts_with("done\n"), "{done}");
    let files: Vec<_> = std::fs::read_dir(place.path().join("here"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    let with = |extension: &str| {
        files
            .iter()
            .filter(|file| file.extension().is_some_and(|e| e == extension))
            .count()
    };
    assert_eq!((with("hwp"), with("hwm")), (1, 1), "{files:?}");
    assert_eq!(
        place
            .holloway("report here --format json")
            .ok()
            .json()
            .calls("step"),
        111
    );
    let silent = place.holloway("run -o there --no-report --").arg(&app).ok();
    assert_eq!(silent.stdout, "done\n");
    silent.complains("Recorded");
}

#[test]
fn exit_codes_follow_env() {
    let (_, app) = built();
    let place = Project::new(&[("text", "no program")]);
    place
        .holloway("run -o a --no-report --")
        .arg(&app)
        .arg("code")
        .exits(7);
    place
        .holloway("run -o b --no-report --")
        .arg(&app)
        .arg("abort")
        .exits(134);
    place
        .holloway("run -- ./nowhere")
        .exits(127)
        .fails_with("cannot run ./nowhere");
    place
        .holloway("run -- nowhere-in-path")
        .exits(127)
        .fails_with("cannot run nowhere-in-path");
    place
        .holloway("run -- ./text")
        .exits(126)
        .fails_with("cannot run ./text");
    place.holloway("run").exits(2).complains("<PROGRAM>");
    place
        .holloway("run --nonsense x")
        .exits(2)
        .complains("--nonsense");
    assert!(
        !place.path().join("target").exists(),
        "a program that could not be run leaves no directory"
    );
}

#[test]
fn a_program_that_is_not_woven_is_named_with_the_way_out() {
    let place = Project::new(&[]);
    place
        .holloway("run -- true")
        .ok()
        .complains("true was not built by holloway")
        .complains("holloway cc");
    place
        .holloway("run -- false")
        .exits(1)
        .complains("no profile was written");
    let script = place.script("script.sh", "#!/bin/sh\nexit 5\n");
    place
        .holloway("run --")
        .arg(script)
        .exits(5)
        .complains("no profile was written");
    assert!(!place.path().join("target").exists());
}

#[test]
fn a_script_that_runs_a_woven_program_is_profiled() {
    let (_, app) = built();
    let place = Project::new(&[]);
    let script = place.script(
        "script.sh",
        &format!("#!/bin/sh\n{0}\n{0}\n", app.display()),
    );
    let done = place.holloway("run --format json --").arg(script).ok();
    assert_eq!(done.json().calls("step"), 222);
    assert_eq!(place.runs().len(), 1);
}

#[test]
fn an_earlier_run_is_never_overwritten() {
    let (_, app) = built();
    let place = Project::new(&[("full/kept", "precious")]);
    std::fs::create_dir(place.path().join("empty")).unwrap();
    place
        .holloway("run -o full --")
        .arg(&app)
        .exits(125)
        .fails_with("cannot record into full: it is not empty");
    assert_eq!(
        std::fs::read_to_string(place.path().join("full/kept")).unwrap(),
        "precious"
    );
    place
        .holloway("run -o full/kept --")
        .arg(&app)
        .exits(125)
        .fails_with("full/kept");
    place.holloway("run --no-report -o empty --").arg(&app).ok();
    place
        .holloway("run -o empty --")
        .arg(&app)
        .exits(125)
        .fails_with("not empty");
}

#[test]
fn what_is_no_file_among_the_profiles_stops_nobody() {
    let (_, app) = built();
    let place = Project::new(&[("data/kept", "")]);
    let data = place.path().join("data");
    for name in ["0-pipe.hwp", "1-pipe.hwp"] {
        place.program("mkfifo").arg(data.join(name)).ok();
    }
    std::fs::create_dir(data.join("2-directory.hwp")).unwrap();
    let done = place
        .holloway("run --")
        .arg(&app)
        .env("HOLLOWAY_DATA", &data)
        .ok();
    done.says("step").says("0-pipe.hwp: not a regular file");
    let alone = place.holloway("report").arg(data.join("0-pipe.hwp"));
    alone.exits(125).fails_with("not a regular file");
}

#[test]
fn holloway_data_names_the_directory() {
    let (_, app) = built();
    let place = Project::new(&[]);
    let data = place.path().join("data");
    for _ in 0..2 {
        place
            .holloway("run --no-report --")
            .arg(&app)
            .env("HOLLOWAY_DATA", &data)
            .ok();
    }
    assert_eq!(
        place
            .holloway("report --format json")
            .env("HOLLOWAY_DATA", &data)
            .ok()
            .json()
            .calls("step"),
        222
    );
    // -o overrides the variable.
    place
        .holloway("run --no-report -o named --")
        .arg(&app)
        .env("HOLLOWAY_DATA", &data)
        .ok();
    assert_eq!(
        place
            .holloway("report named --format json")
            .ok()
            .json()
            .calls("step"),
        111
    );
}

#[test]
fn a_directory_that_cannot_be_written_is_said_before_the_run() {
    let (_, app) = built();
    let place = Project::new(&[("file", "")]);
    let done = place.holloway("run -o file/below --").arg(&app).exits(125);
    done.fails_with("file/below");
    assert!(done.stdout.is_empty(), "the program did not run\n{done}");
    place
        .holloway("run --")
        .arg(&app)
        .env("HOLLOWAY_DATA", "/proc/holloway")
        .exits(125)
        .fails_with("/proc/holloway");
}

#[test]
fn a_signal_to_holloway_reaches_the_program_and_the_report_still_comes() {
    let (_, app) = built();
    let place = Project::new(&[]);
    for (signal, code) in [("TERM", 143), ("INT", 130)] {
        let mut call = place.holloway("run --format json --").arg(&app).arg("wait");
        let mut child = call
            .command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        assert_eq!(line, "waiting\n");
        // A session of its own would be needed to send it from a terminal; so it is sent to
        // holloway alone. Twice, as `timeout` does: the second may come while the results are being
        // written.
        for _ in 0..2 {
            let sent = std::process::Command::new("kill")
                .args([format!("-{signal}"), child.id().to_string()])
                .status()
                .unwrap();
            assert!(sent.success());
        }
        let mut report = String::new();
        std::io::Read::read_to_string(&mut out, &mut report).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(code), "{signal}");
        assert!(report.contains("\"schema\""), "{signal}: {report}");
    }
}
