//! Woven shared objects: where their profiles go; they export nothing of ours. See `glibc` for those that are unloaded, or there twice.

use crate::common;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{command, profiles, run, run_silently, workshop};

/// `Kind::Paths`.
const COUNTS: &str = "-DKIND=0";

/// The command that does it, and where the data goes.
pub(crate) fn loading(test: &str) -> (Command, PathBuf) {
    loading_kind(test, COUNTS)
}

/// The same with libraries that collect another kind, told as a flag.
pub(crate) fn loading_kind(test: &str, kind: &str) -> (Command, PathBuf) {
    let workshop = workshop(&format!("libraries-{test}{kind}"));
    let first = library_of(&workshop, "library.so", kind);
    let second = library_of(&workshop, "other.so", kind);
    let loader = workshop.join("loader");
    run_silently(
        common::gcc()
            .arg("-o")
            .arg(&loader)
            .arg(common::source("loader.c"))
            .args(["-pthread", "-ldl"]),
    );
    let (mut command, data) = command(&loader, &[test]);
    command.arg(&first).arg(&second);
    preload(&mut command, &[&first, &second]);
    (command, data)
}

/// musl can't load what has thread-local storage of the static kind after the start.
fn preload(command: &mut Command, libraries: &[&Path]) {
    if crate::MUSL {
        let paths: Vec<String> = libraries.iter().map(|l| l.display().to_string()).collect();
        command.env("LD_PRELOAD", paths.join(":"));
    }
}

fn library(workshop: &Path, name: &str) -> PathBuf {
    library_of(workshop, name, COUNTS)
}

/// Compiles a woven library that collects a kind, told as a flag; its path.
pub(crate) fn library_of(workshop: &Path, name: &str, kind: &str) -> PathBuf {
    let path = workshop.join(name);
    let mut gcc = common::gcc();
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
    gcc.arg(common::source("library.c"))
        .arg(common::object(workshop));
    run_silently(&mut gcc);
    path
}

#[test]
fn loads_without_a_file_do_not_pile_up_either() {
    let workshop = workshop("libraries-no-file");
    let path = library(&workshop, "library.so");
    let loader = workshop.join("loader");
    run_silently(
        common::gcc()
            .arg("-o")
            .arg(&loader)
            .arg(common::source("loader.c"))
            .args(["-pthread", "-ldl"]),
    );
    let mut command = Command::new(&loader);
    preload(&mut command, &[&path]);
    let output = run(command
        .arg("again-and-again")
        .arg(&path)
        .arg(&path)
        .env("HOLLOWAY_DATA", "/dev/null/no"));
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.starts_with("holloway: cannot write /dev/null/no/"),
        "{said}"
    );
    assert!(said.contains("not a directory"), "{said}");
}

#[test]
fn images_of_one_process_share_a_run() {
    let (mut command, data) = loading("two-libraries");
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

#[test]
fn nothing_is_exported() {
    let workshop = workshop("libraries-exports");
    let output = run(Command::new("nm")
        .args(["-D", "--defined-only"])
        .arg(library(&workshop, "library.so")));
    let symbols = String::from_utf8(output.stdout).unwrap();
    let names: Vec<&str> = symbols
        .lines()
        .filter_map(|line| line.split(' ').next_back())
        .collect();
    // Those of crti.o are there besides in what musl's links.
    let own = names
        .iter()
        .filter(|name| !["_init", "_fini"].contains(name));
    assert_eq!(own.collect::<Vec<_>>(), [&"work"]);
}
