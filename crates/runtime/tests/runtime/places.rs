//! Tests the directories of profiles: HOLLOWAY_DATA, the directory of runs in the image header, the
//! user's state directory, or `target/holloway/runs`.

use crate::harness;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;
use std::process::Command;

use crate::harness::{Libc, compile, only, profiles, run_silently, test_directory};

/// Runs `threads one` with or without HOLLOWAY_DATA.
fn run_in(program: &Path, directory: &Path, data: Option<&str>) {
    let mut command = Command::new(program);
    command
        .arg("one")
        .current_dir(directory)
        .env_remove("HOLLOWAY_DATA")
        .env_remove("XDG_STATE_HOME")
        .env_remove("HOME");
    if let Some(data) = data {
        command.env("HOLLOWAY_DATA", data);
    }
    run_silently(&mut command);
}

/// The runs in a directory, without the link `latest`.
fn runs(directory: &Path) -> Vec<String> {
    let names = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name != "latest").collect();
    names.sort();
    names
}

#[test]
fn below_the_current_directory() {
    let test_directory = test_directory(Libc::Glibc, "places-default");
    let program = compile(Libc::Glibc, &test_directory, &["threads.c"], &[]);
    let directory = test_directory.join("target/holloway/runs");
    for count in 1..=3 {
        run_in(&program, &test_directory, None);
        assert_eq!(runs(&directory).len(), count, "an earlier run is kept");
        let latest = fs::read_link(directory.join("latest")).unwrap();
        let name = latest.to_str().unwrap();
        assert!(runs(&directory).contains(&name.to_owned()));
        let profile = only(profiles(&directory.join(&latest)));
        assert!(
            name.ends_with(&format!("-threads-{}", profile.pid)),
            "{name}"
        );
        assert_eq!(profile.counter(1), 100);
    }
}

#[test]
fn directory_in_the_image_header() {
    let test_directory = test_directory(Libc::Glibc, "places-baked");
    let directory = test_directory.join("deep/er/runs");
    fs::create_dir_all(test_directory.join("deep/er")).unwrap();
    let program = compile(
        Libc::Glibc,
        &test_directory,
        &["threads.c"],
        &[&format!("-DRUNS=\"{}\"", directory.display())],
    );
    run_in(&program, Path::new("/"), None);
    assert_eq!(only(profiles(&directory.join("latest"))).counter(1), 100);
}

/// Runs `threads one` in a directory, with these variables.
fn run_with(program: &Path, directory: &Path, variables: &[(&str, &Path)]) {
    let mut command = Command::new(program);
    command
        .arg("one")
        .current_dir(directory)
        .env_remove("HOLLOWAY_DATA")
        .env_remove("XDG_STATE_HOME")
        .env_remove("HOME")
        .envs(variables.iter().copied());
    run_silently(&mut command);
}

/// The name of a build in the user's state directory.
fn name_of(directory: &Path) -> OsString {
    let path = directory.canonicalize().unwrap();
    OsString::from_vec(holloway_abi::build_name(path.as_os_str().as_bytes()).collect())
}

/// The path in a profile is the executable's, byte for byte.
#[test]
fn paths_of_any_bytes_and_length() {
    let test_directory = test_directory(Libc::Glibc, "places-paths");
    let program = compile(Libc::Glibc, &test_directory, &["threads.c"], &[]);
    let below = |bytes: &[u8]| test_directory.join(OsStr::from_bytes(bytes));
    let long = (0..8).fold(below(b"long"), |path, _| path.join("x".repeat(200)));
    let directories = [
        below(b"new\nline"),
        below(b"four \\012 characters"),
        below(b"no \xff\xfe UTF-8"),
        below(b"a%b=c"),
        long,
    ];
    let state = test_directory.join("state");
    for directory in directories {
        fs::create_dir_all(&directory).unwrap();
        let copy = directory.join("threads");
        fs::copy(&program, &copy).unwrap();
        run_with(&copy, Path::new("/"), &[("XDG_STATE_HOME", &state)]);
        let runs = state.join("holloway/runs").join(name_of(&directory));
        let profile = only(profiles(&runs.join("latest")));
        assert_eq!(profile.counter(1), 100);
        let path = copy.canonicalize().unwrap();
        assert_eq!(profile.path_bytes, path.as_os_str().as_bytes());
    }
}

/// A directory in which nothing can be created: the message has the reason, and not the failure
/// that follows from it.
#[test]
fn the_reason_is_that_of_the_directory_above() {
    let test_directory = test_directory(Libc::Glibc, "places-reason");
    let program = compile(Libc::Glibc, &test_directory, &["threads.c"], &[]);
    let mut command = Command::new(program);
    let variables = ["HOLLOWAY_DATA", "XDG_STATE_HOME", "HOME"];
    for variable in variables {
        command.env_remove(variable);
    }
    // The kernel creates no directory there, whoever asks.
    let output = harness::run(command.arg("one").current_dir("/sys/kernel"));
    let stderr = String::from_utf8(output.stderr).unwrap();
    let beginning = "holloway: cannot write /sys/kernel/target/holloway/runs/";
    assert!(stderr.starts_with(beginning), "{stderr}");
    assert!(!stderr.contains("no such file"), "{stderr}");
    assert!(stderr.contains("; nothing of this process is recorded (set HOLLOWAY_DATA to "));
}

/// Another directory does not help against a limit.
#[test]
fn the_remedy_against_a_limit_is_to_raise_it() {
    let test_directory = test_directory(Libc::Glibc, "places-limit");
    let program = compile(Libc::Glibc, &test_directory, &["threads.c"], &[]);
    let mut command = Command::new("sh");
    // The loader needs one descriptor, and the runtime two.
    command.args(["-c", r#"ulimit -n 4; exec "$0" one"#]);
    command.arg(program).env("HOLLOWAY_DATA", &test_directory);
    let output = harness::run(&mut command);
    let stderr = String::from_utf8(output.stderr).unwrap();
    let ending = ": too many open files; nothing of this process is recorded (raise the limit of open files: ulimit -n)\n";
    assert!(stderr.ends_with(ending), "{stderr}");
}

#[test]
fn state_directory_of_the_user() {
    let test_directory = test_directory(Libc::Glibc, "places-state");
    let program = compile(Libc::Glibc, &test_directory, &["threads.c"], &[]);
    let build = name_of(&test_directory);
    let [state, home, elsewhere] = ["state", "home", "elsewhere"].map(|name| {
        let directory = test_directory.join(name);
        fs::create_dir(&directory).unwrap();
        directory
    });
    let latest = |runs: &Path| only(profiles(&runs.join("latest"))).counter(1);

    let variables = [("XDG_STATE_HOME", &*state), ("HOME", &*home)];
    run_with(&program, &elsewhere, &variables);
    let runs_in_state = state.join("holloway/runs").join(&build);
    assert_eq!(latest(&runs_in_state), 100);

    // A relative XDG_STATE_HOME is ignored, as its specification says.
    let variables = [("XDG_STATE_HOME", Path::new("state")), ("HOME", &*home)];
    run_with(&program, &elsewhere, &variables);
    let runs_in_home = home.join(".local/state/holloway/runs").join(&build);
    assert_eq!(latest(&runs_in_home), 100);
    assert_eq!(
        runs(&elsewhere),
        [""; 0],
        "nothing below the current directory"
    );

    // A home that does not exist is not created.
    let missing = test_directory.join("missing");
    run_with(&program, &elsewhere, &[("HOME", &missing)]);
    assert!(!missing.exists());
    assert_eq!(latest(&elsewhere.join("target/holloway/runs")), 100);
}

#[test]
fn a_deleted_build_directory_is_not_created_again() {
    let test_directory = test_directory(Libc::Glibc, "places-deleted");
    let build = test_directory.join("build/target/holloway");
    let option = format!("-DRUNS=\"{}\"", build.join("runs").display());
    let program = compile(Libc::Glibc, &test_directory, &["threads.c"], &[&option]);
    let state = test_directory.join("state");
    run_with(&program, &test_directory, &[("XDG_STATE_HOME", &state)]);
    assert!(!test_directory.join("build").exists());
    let of_user = state.join("holloway/runs").join(name_of(&test_directory));
    assert_eq!(only(profiles(&of_user.join("latest"))).counter(1), 100);

    // A file in place of the directory of runs stands for a directory that cannot be written.
    fs::create_dir_all(&build).unwrap();
    fs::write(build.join("runs"), "").unwrap();
    run_with(&program, &test_directory, &[("XDG_STATE_HOME", &state)]);
    assert_eq!(runs(&of_user).len(), 2);

    fs::remove_file(build.join("runs")).unwrap();
    run_with(&program, &test_directory, &[("XDG_STATE_HOME", &state)]);
    assert_eq!(only(profiles(&build.join("runs/latest"))).counter(1), 100);
}

#[test]
fn directory_in_the_variable() {
    let test_directory = test_directory(Libc::Glibc, "places-variable");
    let program = compile(Libc::Glibc, &test_directory, &["threads.c"], &[]);
    run_in(&program, &test_directory, Some("some/where/else/"));
    run_in(&program, &test_directory, Some("some/where/else"));
    let all = profiles(&test_directory.join("some/where/else"));
    assert_eq!(all.len(), 2);
    assert!(all.iter().all(|profile| profile.counter(1) == 100));
    assert!(
        !test_directory.join("target").exists(),
        "no directory of runs"
    );
}

#[test]
fn a_directory_named_latest_stays() {
    let test_directory = test_directory(Libc::Glibc, "places-latest");
    let program = compile(Libc::Glibc, &test_directory, &["threads.c"], &[]);
    let directory = test_directory.join("target/holloway/runs");
    fs::create_dir_all(directory.join("latest/mine")).unwrap();
    run_in(&program, &test_directory, None);
    assert!(directory.join("latest/mine").exists());
    assert_eq!(
        only(profiles(&directory.join(only(runs(&directory))))).counter(1),
        100
    );
}

#[test]
fn large_blocks() {
    let program = compile(
        Libc::Glibc,
        &test_directory(Libc::Glibc, "places-large"),
        &["threads.c"],
        &["-DBLOCK=(1048576*3-64)"],
    );
    let (mut command, data) = harness::command(&program, &["waves"]);
    run_silently(&mut command);
    let profile = only(profiles(&data));
    assert_eq!(
        (profile.counter(1), profile.hash_sum(2), profile.lost),
        (20_000, 2_000, 0)
    );
    fs::remove_dir_all(data).unwrap();
}
