//! The Debian packages and the Rust target that the tests need, and their installation.

use anyhow::{Context, Result, bail, ensure};
use std::path::Path;
use std::process::{Command, Stdio};

/// Everything outside cargo that the tests and benches use: this is the one list.
pub(crate) const NEEDED: [&str; 14] = [
    "gcc",                // the C linker that rustc calls, and the system's headers
    "g++",                // libstdc++ for the C++ programs
    "clang-19",           // the oldest clang and libLLVM supported
    "clang-22",           // the LLVM of rustc 1.95
    "llvm-19-dev",        // its libLLVM where clang's is looked for
    "llvm-22-dev",        // and that of the other
    "libclang-rt-22-dev", // clang's own counters and sanitizers
    "lld-22",             // the other linker
    "llvm-22",            // llvm-profdata: clang's counters
    "cmake",              // builds by CMake
    "autoconf",           // builds by configure
    "make",               // and what both of them call
    "musl-tools",         // the other C library
    PIP,                  // another SEQUITUR to compare with
];

/// Any Python 3 with pip will do.
const PIP: &str = "python3-pip";

/// What rustc links with musl.
const RUST_MUSL: &str = "x86_64-unknown-linux-musl";

/// Installs what is missing.
///
/// # Errors
/// Something is missing and can't be installed: says how to do it by hand.
pub(crate) fn install() -> Result<()> {
    install_packages()?;
    install_target()
}

/// Adds the standard library for musl to the Rust toolchain in use.
fn install_target() -> Result<()> {
    let mut ask = Command::new("rustc");
    ask.args(["--print=target-libdir", "--target", RUST_MUSL]);
    let said = ask.output().context("cannot start rustc")?;
    let libraries = String::from_utf8_lossy(&said.stdout);
    if said.status.success() && Path::new(libraries.trim_ascii()).is_dir() {
        return Ok(());
    }
    println!("xtask: adding the Rust target {RUST_MUSL}");
    let mut add = Command::new("rustup");
    let status = add.args(["target", "add", RUST_MUSL]).status();
    ensure!(
        status.is_ok_and(|status| status.success()),
        "the tests need Rust's standard library for {RUST_MUSL}, and `rustup target add {RUST_MUSL}` doesn't give it; install that target by hand"
    );
    Ok(())
}

fn install_packages() -> Result<()> {
    let missing: Vec<&str> = NEEDED.into_iter().filter(|p| !is_installed(p)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let list = missing.join(" ");
    let by_hand = format!("install these Debian packages (or their like) by hand: {list}");
    ensure!(
        exists("apt-get"),
        "the tests need packages, and there is no apt-get here; {by_hand}"
    );
    let mut prefix = Vec::new();
    if !is_root() {
        ensure!(
            exists("sudo"),
            "the tests need packages, and you are neither root nor is there sudo; {by_hand}"
        );
        prefix.extend(["sudo", "--non-interactive"]);
    }
    println!("xtask: installing {list}");
    let apt = |words: &[&str]| -> Result<bool> {
        let line: Vec<&str> = prefix
            .iter()
            .chain(&["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"])
            .chain(words)
            .copied()
            .collect();
        let status = Command::new(line[0])
            .args(&line[1..])
            .stdin(Stdio::null())
            .status();
        Ok(status
            .with_context(|| format!("cannot start {}", line[0]))?
            .success())
    };
    // A list that is out of date names versions that are gone; failing to renew it shows in the next step.
    apt(&["update", "--quiet"])?;
    let mut words = vec!["install", "--yes", "--quiet", "--no-install-recommends"];
    words.extend(&missing);
    if !apt(&words)? {
        bail!(
            "apt-get could not install the packages; {by_hand} (clang-22 and its kin are in Debian 12's updates and at apt.llvm.org)"
        );
    }
    Ok(())
}

fn is_installed(package: &str) -> bool {
    if package == PIP {
        let pip = Command::new("python3")
            .args(["-m", "pip", "--version"])
            .output();
        return pip.is_ok_and(|o| o.status.success());
    }
    let query = Command::new("dpkg-query")
        .args(["--show", "--showformat=${db:Status-Status}", package])
        .output();
    query.is_ok_and(|o| o.status.success() && o.stdout == b"installed")
}

fn exists(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(program).is_file())
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|o| o.stdout.trim_ascii() == b"0")
}
