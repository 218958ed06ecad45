//! `holloway run`: exit codes, signals, and the directory of the data.

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

/// A project and its built program. The first call builds it for all tests of this file.
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
    let project = Project::new(&[]);
    let result = project.holloway("run -o here --").arg(&app).ok();
    result.says("done").says("step");
    assert!(result.stdout.starts_with("done\n"), "{result}");
    let files: Vec<_> = std::fs::read_dir(project.path().join("here"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    let count_of = |extension: &str| {
        files
            .iter()
            .filter(|file| file.extension().is_some_and(|e| e == extension))
            .count()
    };
    assert_eq!((count_of("hwp"), count_of("hwm")), (1, 1), "{files:?}");
    assert_eq!(
        project
            .holloway("report here --format json")
            .ok()
            .json()
            .calls("step"),
        111
    );
    assert!(count_of("hwc") == 1, "{files:?}");
    let silent = project
        .holloway("run -o there --no-report --")
        .arg(&app)
        .ok();
    assert_eq!(silent.stdout, "done\n");
    silent.complains("Recorded");
}

#[test]
fn exit_codes_follow_env() {
    let (_, app) = built();
    let project = Project::new(&[("text", "no program")]);
    project
        .holloway("run -o a --no-report --")
        .arg(&app)
        .arg("code")
        .exits(7);
    project
        .holloway("run -o b --no-report --")
        .arg(&app)
        .arg("abort")
        .exits(134);
    project
        .holloway("run -- ./nowhere")
        .exits(127)
        .fails_with("cannot run ./nowhere");
    project
        .holloway("run -- nowhere-in-path")
        .exits(127)
        .fails_with("cannot run nowhere-in-path");
    project
        .holloway("run -- ./text")
        .exits(126)
        .fails_with("cannot run ./text");
    project.holloway("run").exits(2).complains("<PROGRAM>");
    project
        .holloway("run --nonsense x")
        .exits(2)
        .complains("--nonsense");
    assert!(
        !project.path().join("target").exists(),
        "a program that could not be run leaves no directory"
    );
}

#[test]
fn a_program_that_is_not_woven_is_named_with_advice() {
    let project = Project::new(&[]);
    project
        .holloway("run -- true")
        .ok()
        .complains("true was not built by holloway")
        .complains("holloway cc");
    project
        .holloway("run -- false")
        .exits(1)
        .complains("no profile was written");
    let script = project.script("script.sh", "#!/bin/sh\nexit 5\n");
    project
        .holloway("run --")
        .arg(script)
        .exits(5)
        .complains("no profile was written");
    assert!(!project.path().join("target").exists());
}

#[test]
fn a_script_that_runs_a_woven_program_is_profiled() {
    let (_, app) = built();
    let project = Project::new(&[]);
    let script = project.script(
        "script.sh",
        &format!("#!/bin/sh\n{0}\n{0}\n", app.display()),
    );
    let result = project.holloway("run --format json --").arg(script).ok();
    assert_eq!(result.json().calls("step"), 222);
    assert_eq!(project.runs().len(), 1);
}

#[test]
fn an_earlier_run_is_never_overwritten() {
    let (_, app) = built();
    let project = Project::new(&[("full/kept", "precious")]);
    std::fs::create_dir(project.path().join("empty")).unwrap();
    project
        .holloway("run -o full --")
        .arg(&app)
        .exits(125)
        .fails_with("cannot record into full: it is not empty");
    assert_eq!(
        std::fs::read_to_string(project.path().join("full/kept")).unwrap(),
        "precious"
    );
    project
        .holloway("run -o full/kept --")
        .arg(&app)
        .exits(125)
        .fails_with("full/kept");
    project
        .holloway("run --no-report -o empty --")
        .arg(&app)
        .ok();
    project
        .holloway("run -o empty --")
        .arg(&app)
        .exits(125)
        .fails_with("not empty");
}

#[test]
fn fifos_and_directories_among_the_profiles_are_reported() {
    let (_, app) = built();
    let project = Project::new(&[("data/kept", "")]);
    let data = project.path().join("data");
    for name in ["0-pipe.hwp", "1-pipe.hwp"] {
        project.program("mkfifo").arg(data.join(name)).ok();
    }
    std::fs::create_dir(data.join("2-directory.hwp")).unwrap();
    let result = project
        .holloway("run --")
        .arg(&app)
        .env("HOLLOWAY_DATA", &data)
        .ok();
    result.says("step").says("0-pipe.hwp: not a regular file");
    let one_file = project.holloway("report").arg(data.join("0-pipe.hwp"));
    one_file.exits(125).fails_with("not a regular file");
}

#[test]
fn holloway_data_names_the_directory() {
    let (_, app) = built();
    let project = Project::new(&[]);
    let data = project.path().join("data");
    for _ in 0..2 {
        project
            .holloway("run --no-report --")
            .arg(&app)
            .env("HOLLOWAY_DATA", &data)
            .ok();
    }
    assert_eq!(
        project
            .holloway("report --format json")
            .env("HOLLOWAY_DATA", &data)
            .ok()
            .json()
            .calls("step"),
        222
    );
    // -o overrides the variable.
    project
        .holloway("run --no-report -o named --")
        .arg(&app)
        .env("HOLLOWAY_DATA", &data)
        .ok();
    assert_eq!(
        project
            .holloway("report named --format json")
            .ok()
            .json()
            .calls("step"),
        111
    );
}

#[test]
fn an_unwritable_directory_is_reported_before_the_run() {
    let (_, app) = built();
    let project = Project::new(&[("file", "")]);
    let result = project
        .holloway("run -o file/below --")
        .arg(&app)
        .exits(125);
    result.fails_with("file/below");
    assert!(
        result.stdout.is_empty(),
        "the program did not run\n{result}"
    );
    project
        .holloway("run --")
        .arg(&app)
        .env("HOLLOWAY_DATA", "/proc/holloway")
        .exits(125)
        .fails_with("/proc/holloway");
}

#[test]
fn a_signal_to_holloway_reaches_the_program_and_the_report_follows() {
    let (_, app) = built();
    let project = Project::new(&[]);
    for (signal, code) in [("TERM", 143), ("INT", 130)] {
        let mut call = project
            .holloway(&format!("run -o {signal} --format json --"))
            .arg(&app)
            .arg("wait");
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
        // A terminal would send the signal to both processes; this test sends it to holloway only.
        // It sends the signal twice, as `timeout` does. The second may arrive while holloway writes
        // the results.
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
        let json: serde_json::Value = serde_json::from_str(&report).unwrap();
        assert_eq!(json["interrupted"], format!("SIG{signal}"), "{report}");
        // The report of the same run says so, too.
        let text = project.holloway(&format!("report {signal}")).ok().stdout;
        assert!(
            text.contains(&format!("interrupted   by SIG{signal}")),
            "{text}"
        );
    }
}

/// The shell ends as usual right after the signal to its parent, which is holloway. It ignores the
/// signal that holloway may forward to it.
#[test]
fn an_interrupt_just_before_the_end_is_noticed() {
    let (_, app) = built();
    let project = Project::new(&[]);
    for round in 0..20 {
        let run = format!("run-{round}");
        project
            .holloway(&format!("run -o {run} --no-report -- sh -c"))
            .arg(r#""$0"; trap '' INT; kill -INT $PPID"#)
            .arg(&app)
            .ok();
        let report = project.holloway(&format!("report {run} --format json"));
        assert_eq!(report.ok().json().0["interrupted"], "SIGINT", "{run}");
    }
}

#[test]
fn a_program_without_a_profile_leaves_no_run_when_it_is_interrupted() {
    let project = Project::new(&[]);
    let mut call = project
        .holloway("run -o run -- sh -c")
        .arg("echo waiting; exec sleep 60");
    let mut child = call.command.stdout(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    assert_eq!(line, "waiting\n");
    let kill = std::process::Command::new("kill")
        .args(["-TERM", &child.id().to_string()])
        .status();
    assert!(kill.unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert!(!project.path().join("run").exists());
}

/// Passes where the kernel refuses to sample, too: the report then says so.
#[test]
fn reports_begin_with_the_cpu_time_and_its_woven_share() {
    let (_, app) = built();
    let project = Project::new(&[]);
    let text = project.holloway("run -o here --").arg(&app).ok().stdout;
    let report = text.strip_prefix("done\n").unwrap();
    assert!(report.starts_with("CPU time\n  total  "), "{text}");
    assert!(report.contains("\n  woven  "), "{text}");
    assert!(report.find("Coverage") > report.find("CPU time"), "{text}");

    let report = project.holloway("report here --format json").ok().json();
    let time = &report.0["cpu_time"];
    assert!(time["user_seconds"].is_number(), "{time}");
    match time["sampling"].as_str() {
        Some("refused") => assert!(time["errno"].is_u64(), "{time}"),
        Some("sampled") => {
            let unwoven = time["unwoven"].as_array().unwrap().iter();
            let unwoven: u64 = unwoven.map(|code| code["samples"].as_u64().unwrap()).sum();
            let woven = time["woven_samples"].as_u64().unwrap();
            assert_eq!(time["samples"], woven + unwoven, "{time}");
            assert_eq!(time["other_programs"].as_array().map(Vec::len), Some(0));
        }
        other => panic!("{other:?}"),
    }

    // A program that records nothing adds no CPU time to the run.
    let mut call = project.holloway("run --no-report -- true");
    call = call.env("HOLLOWAY_DATA", project.path().join("here"));
    call.ok();
    let again = project.holloway("report here --format json").ok().json();
    assert_eq!(&again.0["cpu_time"], time);
}

#[test]
fn too_few_open_files_have_a_remedy() {
    let project = Project::new(&[]);
    let holloway = env!("CARGO_BIN_EXE_holloway");
    let script = format!("#!/bin/sh\nulimit -n 4\nexec {holloway} run -- /bin/true\n");
    let limited = project.script("limited", &script);
    let result = project.program(&limited.to_string_lossy()).exits(126);
    result.fails_with("raise the limit of open files (ulimit -n)");
}
