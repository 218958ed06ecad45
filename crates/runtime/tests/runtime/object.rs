//! Tests the runtime object: its symbols, and that it works with all linkers, in static and
//! position-independent programs, and in C and Rust.

use crate::harness;
use std::collections::BTreeSet;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::{
    Libc, compile, object, only, profiles, run, run_silently, source, test_directory,
    test_with_each_libc,
};

test_with_each_libc! {
    gnu_ld,
    gold,
    lld,
    rust_that_unwinds,
    rust_that_aborts,
}

#[test]
fn undefined_symbols() {
    let output = run(Command::new("nm")
        .arg("-u")
        .arg(object(&test_directory(Libc::Glibc, "object-symbols"))));
    let text = String::from_utf8(output.stdout).unwrap();
    let names: BTreeSet<&str> = text
        .split_whitespace()
        .filter(|word| !["U", "w"].contains(word))
        .collect();
    let known = ["pthread_atfork", "__holloway_image", "__holloway_slot"];
    let weak = ["__rseq_offset", "__rseq_size"];
    assert_eq!(names, known.into_iter().chain(weak).collect());
    for name in weak {
        assert!(
            text.contains(&format!("w {name}")),
            "the object uses {name}"
        );
    }
}

#[test]
fn defined_symbols_are_hidden() {
    let output = run(Command::new("readelf")
        .arg("-sW")
        .arg(object(&test_directory(Libc::Glibc, "object-hidden"))));
    let text = String::from_utf8(output.stdout).unwrap();
    let visible =
        |line: &&str| line.contains("GLOBAL") && line.contains("DEFAULT") && !line.contains("UND");
    assert_eq!(
        text.lines().filter(visible).collect::<Vec<_>>(),
        Vec::<&str>::new()
    );
}

/// The entry points for timed paths do not save vector registers. So their code uses no vector
/// register, and only calls entry points that save them.
#[cfg(target_arch = "x86_64")]
#[test]
fn hot_code_uses_no_vector_register() {
    const HOT: &str = ".text.holloway_hot";
    let object = object(&test_directory(Libc::Glibc, "object-hot"));
    let mut lines = 0;
    let mut called = BTreeSet::new();
    let mut objdump = Command::new("objdump");
    objdump.args(["-dr", "--no-show-raw-insn", "-j", HOT]);
    let output = run(objdump.arg(&object));
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    for line in text.lines() {
        let is_code = line.starts_with(' ');
        for register in ["mm", "%st", "%k"] {
            assert!(!is_code || !line.contains(register), "{line}");
        }
        if let Some((_, name)) = line.split_once("R_X86_64_PLT32") {
            let name = name.trim().split('-').next().unwrap();
            called.insert(name.to_owned());
        }
        lines += usize::from(is_code);
    }
    assert!(lines > 200, "{lines} lines");
    called.retain(|name| !name.starts_with(HOT));
    let entry_points = ["__holloway_chunk", "__holloway_enter", "__holloway_tend"];
    assert_eq!(called, entry_points.map(str::to_owned).into());
}

#[test]
fn the_object_contains_no_path_of_the_build() {
    let object = String::from_utf8_lossy(holloway_runtime::OBJECT);
    let home = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap();
    assert!(!object.contains(home.to_str().unwrap()));
}

/// Links `threads.c` and `forks.c` with a linker and each list of flags, and runs them.
fn link(libc: Libc, linker: &str, flag_lists: &[&[&str]]) {
    for (index, flag_list) in flag_lists.iter().enumerate() {
        let test_directory = test_directory(libc, &format!("object-{linker}-{index}"));
        let tools = tools(&test_directory, linker);
        let mut flags = vec![
            format!("-fuse-ld={linker}"),
            format!("-B{}", tools.display()),
            "-Wl,--gc-sections".into(),
        ];
        flags.extend(flag_list.iter().map(|flag| (*flag).to_owned()));
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let program = compile(libc, &test_directory, &["threads.c"], &flags);
        for scenario in ["one", "lifetimes", "thousand-in-turn"] {
            let (mut command, data) = harness::command(&program, &[scenario]);
            run_silently(&mut command);
            let profile = only(profiles(&data));
            assert!(
                profile.hash_sum(2) > 0 && profile.lost == 0,
                "{linker} {flag_list:?} {scenario}"
            );
            std::fs::remove_dir_all(data).unwrap();
        }
        let program = compile(libc, &test_directory, &["forks.c"], &flags);
        let (mut command, data) = harness::command(&program, &["simple"]);
        run_silently(&mut command);
        let mut counts: Vec<_> = profiles(&data)
            .iter()
            .map(|profile| profile.counter(1))
            .collect();
        counts.sort_unstable();
        assert_eq!(counts, [7, 110], "{linker} {flag_list:?}: fork handlers");
    }
}

/// Creates a directory in which gcc finds `ld.<linker>`. On some systems, the linker's name has a
/// version.
fn tools(test_directory: &Path, linker: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap();
    let names: Vec<String> = std::iter::once(format!("ld.{linker}"))
        .chain(
            (15..40)
                .rev()
                .map(|version| format!("ld.{linker}-{version}")),
        )
        .collect();
    let directories = std::env::split_paths(&path);
    let mut candidates =
        directories.flat_map(|directory| names.iter().map(move |name| directory.join(name)));
    let linker_path = candidates
        .find(|file| file.exists())
        .unwrap_or_else(|| panic!("no ld.{linker} on the path: install it"));
    let tools = test_directory.join("tools");
    std::fs::create_dir(&tools).unwrap();
    symlink(linker_path, tools.join(format!("ld.{linker}"))).unwrap();
    tools
}

const PIE: &[&str] = &["-fPIE", "-pie"];
const FIXED: &[&str] = &["-fno-pie", "-no-pie"];
const STATIC: &[&str] = &["-static"];
const STATIC_PIE: &[&str] = &["-fPIE", "-static-pie"];
const LAZY: &[&str] = &["-Wl,-z,lazy"];

fn gnu_ld(libc: Libc) {
    link(libc, "bfd", &[PIE, FIXED, STATIC, STATIC_PIE, LAZY]);
}

fn gold(libc: Libc) {
    link(libc, "gold", &[PIE, FIXED, STATIC, LAZY]); // gold has no -static-pie
}

fn lld(libc: Libc) {
    link(libc, "lld", &[PIE, FIXED, STATIC_PIE, LAZY]);
    // Programs of musl-gcc -static and lld crash, woven or not.
    link(libc, "lld", if libc.is_musl() { &[] } else { &[STATIC] });
}

/// Builds and runs a Rust program that calls the hand-woven `library.c`.
fn rust_program(libc: Libc, panic: &str) {
    let test_directory = test_directory(libc, &format!("object-rust-{panic}"));
    let woven = test_directory.join("woven.o");
    run_silently(
        harness::gcc(libc)
            .args(["-O2", "-fPIC", "-mno-red-zone", "-c", "-o"])
            .arg(&woven)
            .arg(source("library.c")),
    );
    let program = test_directory.join("program");
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut rustc = Command::new(rustc);
    rustc
        .args(["--edition=2024", "-O", &format!("-Cpanic={panic}"), "-o"])
        .arg(&program)
        .arg(source("rust.rs"));
    if libc.is_musl() {
        rustc.arg("--target=x86_64-unknown-linux-musl");
    }
    for object in [&woven, &object(&test_directory)] {
        rustc.arg(format!("-Clink-arg={}", object.display()));
    }
    // libc must follow the runtime, which needs `pthread_atfork` from it.
    rustc.args(libc.is_musl().then_some("-Clink-arg=-lc"));
    run_silently(&mut rustc);
    let (mut command, data) = harness::command(&program, &[]);
    run_silently(&mut command);
    let profile = only(profiles(&data));
    assert_eq!((profile.counter(1), profile.hash_sum(2)), (4_100, 4_100));
}

fn rust_that_unwinds(libc: Libc) {
    rust_program(libc, "unwind");
}

fn rust_that_aborts(libc: Libc) {
    rust_program(libc, "abort");
}
