//! `holloway cc` and `holloway c++`: clang, with bitcode in its objects and our link step behind it.
//!
//! Compiling, the user's words stay as they are and ours follow: a *fat* object is made, machine code with the
//! bitcode in a section beside it, so that ar, nm, libtool and foreign linkers see what they know.
//! Linking, clang gets our ld (`--ld-path`), and our ld the one clang would have called. What neither compiles nor
//! links (`--version`, `-E`, `-S`, `-print-…`, a header to precompile) goes to clang untouched, so configure scripts and
//! CMake recognise it.

mod find;
mod words;

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use holloway_weave::Collect;

use crate::failure::{Failure, Result};
use crate::{link, rustc};
use words::Words;

/// The language whose driver is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    /// `holloway cc`.
    C,
    /// `holloway c++`.
    Cxx,
}

/// What follows the user's words when something is compiled. No split LTO units: they are two modules in one file,
/// which the C API cannot read; no whole-program vtables: they are true of merged modules only.
const COMPILE: [&str; 4] = [
    "-flto",
    "-ffat-lto-objects",
    "-fno-whole-program-vtables",
    "-fno-split-lto-unit",
];
/// Places in the source are what a path is shown by.
const LINES: &str = "-gline-tables-only";

/// A module can be embedded once, and ours stands in `.llvm.lto`; asked for a second time, clang crashes.
const EMBEDDED: &str = "-fembed-bitcode=off";

/// With a sanitizer clang warns that the second half of a fat object needs no second instrumentation.
const REDUNDANT: &str = "-Wno-backend-plugin";

const CFI: &str = "-fsanitize=cfi checks types over the whole program, and holloway weaves each file alone; \
    compile without it";

/// Runs clang with `args`; our own options stand first. Returns only when clang could not be started.
///
/// # Errors
/// An option makes no sense, there is no clang to call, or it cannot be run.
pub(crate) fn cc(lang: Language, args: Vec<OsString>) -> Result<ExitCode> {
    let (collect, args) = own_options(args)?;
    let words = Words::read(&args)?;
    if words.compiles && collect.is_none() {
        // The link would find it too, but long after the mistake.
        link::collect_from_env()?;
    }
    if words.compiles && words.cfi {
        return Err(Failure::new(CFI));
    }
    let clang = find::clang(words.links)?;
    let mut command = Command::new(&clang.path);
    if lang == Language::Cxx {
        command.arg("--driver-mode=g++");
    }
    // After a lone `--` every word is a file.
    let end = args
        .iter()
        .position(|arg| arg == "--")
        .unwrap_or(args.len());
    command.args(&args[..end]);
    if words.compiles {
        command.args(COMPILE);
        command.args((!words.debug).then_some(LINES));
        command.args(words.sanitizes.then_some(REDUNDANT));
        command.args(words.embeds.then_some(EMBEDDED));
    }
    if words.links {
        let mut ld = OsString::from("--ld-path=");
        ld.push(link::tools_dir()?.join(link::LD));
        command.arg(ld);
        command.env("HOLLOWAY_LD", real_ld(&clang.path, lang, &args)?);
        command.envs(collect.map(|kind| ("HOLLOWAY_COLLECT", kind)));
        command.envs(words.opt.map(|level| ("HOLLOWAY_OPT", level)));
        command.envs(clang.sysroot.map(|path| ("HOLLOWAY_SYSROOT", path)));
    }
    let error = command.args(&args[end..]).exec();
    Err(rustc::cannot_run(clang.path.as_os_str(), &error))
}

/// Takes `--collect KIND` off the front.
fn own_options(mut args: Vec<OsString>) -> Result<(Option<String>, Vec<OsString>)> {
    let Some(first) = args
        .first()
        .map(|first| first.to_string_lossy().into_owned())
    else {
        return Ok((None, args));
    };
    let kind = if first == "--collect" {
        let kind = args
            .get(1)
            .ok_or_else(|| Failure::usage("--collect wants a kind of profile: --collect paths"))?;
        let kind = kind.to_string_lossy().into_owned();
        args.drain(..2);
        kind
    } else if let Some(kind) = first.strip_prefix("--collect=") {
        args.remove(0);
        kind.to_owned()
    } else {
        return Ok((None, args));
    };
    kind.parse::<Collect>().map_err(Failure::usage)?;
    Ok((Some(kind), args))
}

/// The linker that clang would have called: the program of the last job it would run (`-###`).
fn real_ld(clang: &Path, lang: Language, args: &[OsString]) -> Result<OsString> {
    if let Some(set) = std::env::var_os("HOLLOWAY_LD").filter(|set| !set.is_empty()) {
        return Ok(set);
    }
    let mut command = Command::new(clang);
    command
        .args((lang == Language::Cxx).then_some("--driver-mode=g++"))
        .arg("-###")
        .args(args);
    let output = command
        .output()
        .map_err(|error| rustc::cannot_run(clang.as_os_str(), &error))?;
    let jobs = String::from_utf8_lossy(&output.stderr).into_owned();
    let last = jobs.lines().rfind(|line| line.starts_with(" \""));
    let program = last
        .and_then(|line| line[2..].split_once('"'))
        .map(|(program, _)| program);
    // When clang sees an error in the line it will say so itself.
    Ok(program.map_or_else(
        || "ld".into(),
        |program| PathBuf::from(program).into_os_string(),
    ))
}

/// The end of a program's name: `22` of `clang-22`.
fn suffix(name: &OsStr) -> Option<u32> {
    name.to_str()?.strip_prefix("clang-")?.parse().ok()
}
