//! The Debian packages, npm packages, and Rust targets that the tests need, and their installation.

use crate::workspace::root;
use anyhow::{Context, Result, bail, ensure};
use std::path::Path;
use std::process::{Command, Stdio};

/// Every Debian package that the tests and benchmarks use.
pub(crate) const NEEDED: [&str; 30] = [
    "gcc",                   // the C linker that rustc calls, the system's headers, and gcov
    "g++",                   // libstdc++ for the C++ programs
    "clang-19",              // the oldest clang and libLLVM supported
    "clang-22",              // the LLVM of rustc 1.95
    "llvm-19-dev",           // libLLVM 19 in the folder where clang-19's is expected
    "llvm-22-dev",           // libLLVM 22 in the folder where clang-22's is expected
    "libclang-rt-19-dev",    // the older clang's sanitizers
    "libclang-rt-22-dev",    // clang's own counters and sanitizers
    "lld-22",                // the second linker that is tested
    "llvm-22",               // llvm-profdata and llvm-cov: clang's counters
    "cmake",                 // builds by CMake
    "autoconf",              // builds by configure
    "make",                  // CMake and configure call it
    "musl-tools",            // the second C library that is tested
    "qemu-user-static",      // runs aarch64 programs
    "gcc-aarch64-linux-gnu", // libc and the linker for aarch64
    "g++-aarch64-linux-gnu", // libstdc++ for aarch64
    "linux-perf",            // perf record: files to import
    "csmith",                // random C programs
    "libcsmith-dev",         // the header of these programs
    PIP,                     // installs another implementation of SEQUITUR for a comparison
    "chromium",              // opens pages and speedscope
    NODE,                    // builds the page and the extension, and runs their tests
    NPM,                     // installs the packages of both
    "lcov",                  // lcov and genhtml open exported coverage
    "graphviz",              // draws exported graphs
    "libxml2-utils",         // xmllint reads exported XML
    "valgrind",              // callgrind_annotate opens exported costs
    "less",                  // the pager of long reports
    "bsdutils",              // script: pseudo terminals for the pager and the terminal interface
];

/// Any other installation of Node 20 or later is sufficient, too.
const NODE: &str = "nodejs";
/// npm may come with Node.
const NPM: &str = "npm";

/// Folders with pinned packages from npm.
const NODE_FOLDERS: [&str; 3] = ["web", "editors/vscode", "tests/consumers"];

/// Any other installation of Python 3 with pip is sufficient, too.
const PIP: &str = "python3-pip";

/// The Rust targets that the tests need besides this machine's.
const TARGETS: [&str; 2] = [
    "x86_64-unknown-linux-musl",      // std for programs linked with musl
    "aarch64-unknown-none-softfloat", // core for aarch64's runtime object, without vector registers
];

/// Installs missing packages and targets.
///
/// # Errors
/// If something is missing and cannot be installed. The message says how to install it by hand.
pub(crate) fn install() -> Result<()> {
    install_packages()?;
    NODE_FOLDERS
        .iter()
        .try_for_each(|folder| install_node_packages(folder))?;
    add_targets()
}

/// Installs the pinned packages of a folder, unless they are there.
///
/// # Errors
/// If they cannot be installed. The message says how to install them by hand.
pub(crate) fn install_node_packages(folder: &str) -> Result<()> {
    let path = root().join(folder);
    let changed = |file: &str| std::fs::metadata(path.join(file)).and_then(|file| file.modified());
    let wanted = changed("package-lock.json");
    let wanted = wanted.with_context(|| format!("cannot read {folder}/package-lock.json"))?;
    // npm writes this file at the end of an installation.
    if changed("node_modules/.package-lock.json").is_ok_and(|installed| installed >= wanted) {
        return Ok(());
    }
    println!("xtask: npm ci in {folder}");
    let status = Command::new("npm")
        .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
        .current_dir(&path)
        .status();
    ensure!(
        status.is_ok_and(|status| status.success()),
        "the tests need packages from npm that could not be installed: run `npm ci` in {folder}"
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
    // An outdated list of packages contains versions that no longer exist. If the update fails, the
    // installation may fail, too.
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

/// Adds missing targets with rustup.
///
/// # Errors
/// If a target is missing and cannot be added. The message says how to add it by hand.
fn add_targets() -> Result<()> {
    let missing: Vec<&str> = TARGETS.into_iter().filter(|t| !has_target(t)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let by_hand = format!("rustup target add {}", missing.join(" "));
    println!("xtask: {by_hand}");
    let status = Command::new("rustup")
        .args(["target", "add"])
        .args(&missing)
        .status();
    ensure!(
        status.is_ok_and(|status| status.success()),
        "the tests need Rust targets that could not be added: {by_hand}"
    );
    Ok(())
}

fn has_target(target: &str) -> bool {
    let output = Command::new("rustc")
        .args(["--print", "target-libdir", "--target", target])
        .output();
    output.is_ok_and(|o| Path::new(String::from_utf8_lossy(&o.stdout).trim()).is_dir())
}

fn is_installed(package: &str) -> bool {
    if package == PIP {
        let pip = Command::new("python3")
            .args(["-m", "pip", "--version"])
            .output();
        return pip.is_ok_and(|o| o.status.success());
    }
    match package {
        NODE if exists("node") => return true,
        NPM if exists("npm") => return true,
        _ => {}
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
