//! Compiles the runtime objects: `src/object.rs`, with the rustc that builds this crate, as one
//! `no_std` object file for each processor whose `core` this rustc has. For the other processors it
//! writes empty files.
//!
//! The AArch64 object is compiled for a target without vector registers, so no entry point has to
//! preserve a vector register. That target is meant for kernels, where an unaligned access may
//! trap. So rustc calls `memcpy` to avoid unaligned accesses. In programs they do not trap, so
//! `-strict-align` allows them.
//!
//! The result is an object, not a staticlib. A staticlib contains a panic handler and compiler
//! builtins, which collide with those of std in a Rust program. With `-Crelocation-model=pic`, the
//! same object works in programs, position-independent programs, and shared objects.
//!
//! rustc gives small functions default visibility, because another crate might inline them. A woven
//! shared object must not export them. So this script makes every defined symbol hidden, by
//! changing the visibility byte of the symbol in the ELF symbol table.
//!
//! Cost: about a second for each object.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, exit};

/// The variable with the source directory of `holloway-abi`. The build script of that crate sets
/// it.
const ABI_SOURCE: &str = "DEP_HOLLOWAY_ABI_SOURCE";

/// A processor for which this script compiles a runtime object.
struct Machine {
    name: &'static str,
    /// Targets that can compile the object, in order of preference.
    targets: &'static [&'static str],
    /// Target features for the compiler.
    features: &'static str,
}

const MACHINES: [Machine; 2] = [
    Machine {
        name: "x86_64",
        targets: &["x86_64-unknown-linux-gnu", "x86_64-unknown-linux-musl"],
        features: "",
    },
    Machine {
        name: "aarch64",
        targets: &["aarch64-unknown-none-softfloat"],
        features: "-strict-align",
    },
];

fn main() {
    for source in ["src", &variable(ABI_SOURCE)] {
        println!("cargo::rerun-if-changed={source}");
    }
    // The list of components (rustup) or the directory of targets (a distribution) changes when the
    // user installs a target. Cargo then runs this script again.
    let installed = Path::new(&rustc_print(&["sysroot"])).join("lib/rustlib");
    let list = installed.join("components");
    if let Some(watched) = [list, installed].iter().find(|path| path.exists()) {
        println!("cargo::rerun-if-changed={}", watched.display());
    }
    for machine in MACHINES {
        let Machine {
            name,
            targets,
            features,
        } = machine;
        let out = PathBuf::from(variable("OUT_DIR")).join(format!("holloway_rt_{name}.o"));
        match targets.iter().find(|target| is_installed(target)) {
            Some(target) => compile(target, features, &out),
            None if name == variable("CARGO_CFG_TARGET_ARCH") => fail(&format!(
                "cannot compile the runtime object: {} has no core library for {}; \
                 `rustup target add {}`, \
                 or without rustup the package of your distribution that brings it, \
                 or a rustc of rustup's",
                variable("RUSTC"),
                targets.join(" or "),
                targets[0]
            )),
            None => fs::write(&out, [])
                .unwrap_or_else(|error| fail(&format!("cannot write {}: {error}", out.display()))),
        }
    }
}

/// Does this rustc have `core` for a target?
fn is_installed(target: &str) -> bool {
    Path::new(&rustc_print(&["target-libdir", "--target", target])).is_dir()
}

/// The output of `rustc --print`. It is empty for a target that rustc does not know.
fn rustc_print(arguments: &[&str]) -> String {
    let output = Command::new(variable("RUSTC"))
        .arg("--print")
        .args(arguments)
        .output();
    let output = output.unwrap_or_else(|error| {
        fail(&format!("cannot run {}: {error}", variable("RUSTC")));
    });
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Compiles `holloway-abi` for a target, then the object with it.
fn compile(target: &str, features: &str, out: &Path) {
    let abi = out.with_file_name(format!("libholloway_abi-{target}.rlib"));
    let source = Path::new(&variable(ABI_SOURCE)).join("lib.rs");
    let mut abi_rustc = rustc("holloway_abi", target, features);
    run(abi_rustc
        .arg("--emit=link")
        .arg(format!("-o{}", abi.display()))
        .arg(source));
    let mut object_rustc = rustc("holloway_rt", target, features);
    run(object_rustc
        .arg(format!("--emit=obj={}", out.display()))
        .arg(format!("--extern=holloway_abi={}", abi.display()))
        .arg("src/object.rs"));
    hide_symbols(out);
}

/// The compiler of this build, with the options of both crates.
fn rustc(name: &str, target: &str, features: &str) -> Command {
    let mut rustc = Command::new(variable("RUSTC"));
    rustc
        .arg(format!("--crate-name={name}"))
        .args(["--crate-type=rlib", "--edition=2024"])
        .args(["-Copt-level=2", "-Cpanic=abort", "-Crelocation-model=pic"])
        .args(["-Ccodegen-units=1", "-Cdebuginfo=0", "-Cembed-bitcode=no"])
        .args(["-Coverflow-checks=no", "-Cdebug-assertions=no"])
        .arg("-Cforce-unwind-tables=yes")
        .arg(format!("-Ctarget-feature={features}"))
        .arg(format!("--target={target}"));
    rustc
}

fn run(rustc: &mut Command) {
    match rustc.status() {
        Ok(status) if status.success() => {}
        Ok(status) => fail(&format!(
            "rustc could not compile the runtime object: {status}"
        )),
        Err(error) => fail(&format!("cannot run rustc for the runtime object: {error}")),
    }
}

/// Makes every defined symbol of an object hidden.
fn hide_symbols(path: &Path) {
    let result = fs::read(path)
        .map_err(|error| error.to_string())
        .and_then(|mut object| {
            hide_all(&mut object).ok_or("not a 64-bit little-endian ELF object")?;
            fs::write(path, object).map_err(|error| error.to_string())
        });
    if let Err(error) = result {
        fail(&format!(
            "cannot hide the symbols of {}: {error}",
            path.display()
        ));
    }
}

/// Makes every defined symbol hidden, in the bytes of an ELF object.
///
/// ```text
/// OFFSET SIZE MEANING
/// ELF header
///     40    8  e_shoff
///     58    2  e_shentsize
///     60    2  e_shnum
/// section header
///      4    4  type
///     24    8  offset
///     32    8  size
/// symbol (24 bytes)
///      4    1  info: binding in the high half
///      5    1  other: visibility
///      6    2  section; 0: undefined
/// ```
fn hide_all(object: &mut [u8]) -> Option<()> {
    const SYMBOL_TABLE: u64 = 2;
    const SYMBOL_SIZE: usize = 24;
    const LOCAL: u8 = 0;
    const HIDDEN: u8 = 2;
    if object.get(..6)? != b"\x7fELF\x02\x01" {
        return None;
    }
    let sections = number(object, 40, 8)? as usize;
    let section_size = number(object, 58, 2)? as usize;
    for index in 0..number(object, 60, 2)? as usize {
        let section = sections + index * section_size;
        if number(object, section + 4, 4)? != SYMBOL_TABLE {
            continue;
        }
        let start = number(object, section + 24, 8)? as usize;
        let end = start + number(object, section + 32, 8)? as usize;
        for symbol in object.get_mut(start..end)?.chunks_exact_mut(SYMBOL_SIZE) {
            let defined = symbol[6..8] != [0, 0];
            if defined && symbol[4] >> 4 != LOCAL {
                symbol[5] = HIDDEN;
            }
        }
    }
    Some(())
}

/// A little-endian number in the object.
fn number(object: &[u8], offset: usize, size: usize) -> Option<u64> {
    let bytes = object.get(offset..offset + size)?;
    Some(
        bytes
            .iter()
            .rev()
            .fold(0, |value, byte| value << 8 | u64::from(*byte)),
    )
}

/// A variable that cargo always sets for a build script.
fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| {
        fail(&format!(
            "{name} is not set: run this build script by cargo"
        ))
    })
}

fn fail(message: &str) -> ! {
    eprintln!("{message}");
    exit(1);
}
