//! Compiles side.c to an object and an archive, without a crate to do it.
use std::path::PathBuf;
use std::process::Command;

fn main() {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let compiler = std::env::var("CC").unwrap_or_else(|_| "clang-22".to_owned());
    let mut words = compiler.split_whitespace();
    let mut command = Command::new(words.next().expect("CC names a compiler"));
    command.args(words).args(["-O1", "-g", "-fPIC", "-c", "src/side.c", "-o"]).arg(out.join("side.o"));
    assert!(command.status().expect("the compiler starts").success());
    let archive = out.join("libside.a");
    assert!(Command::new("ar").arg("crs").arg(&archive).arg(out.join("side.o")).status().expect("ar starts").success());
    println!("cargo::rustc-link-search=native={}", out.display());
    println!("cargo::rustc-link-lib=static=side");
    println!("cargo::rerun-if-changed=src/side.c");
    println!("cargo::rerun-if-env-changed=CC");
}
