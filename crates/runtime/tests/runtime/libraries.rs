//! Tests woven shared objects: the directories of their profiles, and that they export no symbol of
//! the runtime. The module `glibc` tests libraries that are unloaded or loaded twice.

use crate::harness;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::{
    Libc, command, profiles, run, run_silently, test_directory, test_with_each_libc,
};

test_with_each_libc! {
    loads_without_a_file_share_one_page,
    images_of_one_process_share_a_run,
    nothing_is_exported,
}

/// `Kind::Paths`.
const COUNTS: &str = "-DKIND=0";

/// The command that loads two libraries, and the directory of its run.
pub(crate) fn loader_command(libc: Libc, test: &str) -> (Command, PathBuf) {
    loader_command_of(libc, test, COUNTS)
}

/// Like [`loader_command`], with libraries for a kind of collection, given as a compiler flag.
pub(crate) fn loader_command_of(libc: Libc, test: &str, kind: &str) -> (Command, PathBuf) {
    let test_directory = test_directory(libc, &format!("libraries-{test}{kind}"));
    let first = library_of(libc, &test_directory, "library.so", kind);
    let second = library_of(libc, &test_directory, "other.so", kind);
    let loader = test_directory.join("loader");
    run_silently(
        harness::gcc(libc)
            .arg("-o")
            .arg(&loader)
            .arg(harness::source("loader.c"))
            .args(["-pthread", "-ldl"]),
    );
    let (mut command, data) = command(&loader, &[test]);
    command.arg(&first).arg(&second);
    preload(libc, &mut command, &[&first, &second]);
    (command, data)
}

/// Preloads libraries with musl, because musl cannot load libraries with static thread-local
/// storage after the program's start.
fn preload(libc: Libc, command: &mut Command, libraries: &[&Path]) {
    if libc.is_musl() {
        let paths: Vec<String> = libraries.iter().map(|l| l.display().to_string()).collect();
        command.env("LD_PRELOAD", paths.join(":"));
    }
}

fn library(libc: Libc, test_directory: &Path, name: &str) -> PathBuf {
    library_of(libc, test_directory, name, COUNTS)
}

/// Compiles a woven library for a kind of collection, given as a compiler flag. Returns its path.
pub(crate) fn library_of(libc: Libc, test_directory: &Path, name: &str, kind: &str) -> PathBuf {
    let path = test_directory.join(name);
    let mut gcc = harness::gcc(libc);
    gcc.args([
        "-O2",
        "-fPIC",
        "-shared",
        "-mno-red-zone",
        "-Wl,-z,defs",
        "-o",
    ])
    .arg(&path)
    .arg(kind);
    gcc.arg(harness::source("library.c"))
        .arg(harness::object(test_directory));
    run_silently(&mut gcc);
    path
}

fn loads_without_a_file_share_one_page(libc: Libc) {
    let test_directory = test_directory(libc, "libraries-no-file");
    let path = library(libc, &test_directory, "library.so");
    let loader = test_directory.join("loader");
    run_silently(
        harness::gcc(libc)
            .arg("-o")
            .arg(&loader)
            .arg(harness::source("loader.c"))
            .args(["-pthread", "-ldl"]),
    );
    let mut command = Command::new(&loader);
    preload(libc, &mut command, &[&path]);
    let output = run(command
        .arg("again-and-again")
        .arg(&path)
        .arg(&path)
        .env("HOLLOWAY_DATA", "/dev/null/no"));
    assert!(output.status.success(), "{output:?}");
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(
        stderr.starts_with("holloway: cannot write /dev/null/no/"),
        "{stderr}"
    );
    assert!(stderr.contains("not a directory"), "{stderr}");
}

fn images_of_one_process_share_a_run(libc: Libc) {
    let (mut command, data) = loader_command(libc, "two-libraries");
    for name in ["HOME", "XDG_STATE_HOME"] {
        command.env_remove(name);
    }
    run_silently(command.env("HOLLOWAY_DATA", ""));
    let runs = data.with_file_name("target/holloway/runs");
    let latest = std::fs::read_link(runs.join("latest")).unwrap();
    assert_eq!(profiles(&runs.join(&latest)).len(), 2);
    assert_eq!(
        std::fs::read_dir(&runs).unwrap().count(),
        2,
        "one run and the link"
    );
    let name = latest.to_str().unwrap();
    let (time, rest) = name.split_at(15);
    assert!(time.bytes().enumerate().all(|(i, byte)| if i == 8 {
        byte == b'-'
    } else {
        byte.is_ascii_digit()
    }));
    assert!(rest.starts_with("-loader-"), "{name}");
}

fn nothing_is_exported(libc: Libc) {
    let test_directory = test_directory(libc, "libraries-exports");
    let output = run(Command::new("nm")
        .args(["-D", "--defined-only"])
        .arg(library(libc, &test_directory, "library.so")));
    let symbols = String::from_utf8(output.stdout).unwrap();
    let names: Vec<&str> = symbols
        .lines()
        .filter_map(|line| line.split(' ').next_back())
        .collect();
    // Libraries of musl's gcc also have the symbols of crti.o.
    let exported = names
        .iter()
        .filter(|name| !["_init", "_fini"].contains(name));
    assert_eq!(exported.collect::<Vec<_>>(), [&"work"]);
}
