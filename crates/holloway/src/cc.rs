//! `holloway cc` and `holloway c++`: clang, with bitcode in its objects and our link step behind it.
//!
//! Compiling, the user's words stay as they are and ours follow: a *fat* object is made, machine code with the
//! bitcode in a section beside it, so that ar, nm, libtool and foreign linkers see what they know.
//! Linking, clang gets our ld (`--ld-path`), and our ld the one clang would have called. What neither compiles nor
//! links (`--version`, `-E`, `-S`, `-print-…`, a header to precompile) goes to clang untouched, so configure scripts and
//! CMake recognise it.

mod words;

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::failure::{Failure, Result};
use crate::wanted::Wanted;
use crate::{clang, guide, link, rustc};
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

/// Runs clang with `args`; our own options may stand among them. Returns only when clang could not be started.
///
/// # Errors
/// An option makes no sense, there is no clang to call, or it cannot be run.
pub(crate) fn cc(lang: Language, args: Vec<OsString>) -> Result<ExitCode> {
    let (wanted, args) = Wanted::take_anywhere(args)?;
    let words = Words::read(&args)?;
    if words.compiles || words.links {
        // The link would find it too, but long after the mistake, and clang would have its own word on it.
        let check = if words.links {
            guide::check_whole
        } else {
            guide::check
        };
        let wanted = wanted.clone().or_environment()?;
        wanted.guide.as_deref().map_or(Ok(()), check)?;
    }
    if words.compiles && words.cfi {
        return Err(Failure::new(CFI));
    }
    let clang = clang::clang(words.links)?;
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
        command.envs(wanted.environment());
        command.envs(words.opt.map(|level| ("HOLLOWAY_OPT", level)));
        command.envs(clang.sysroot.map(|path| ("HOLLOWAY_SYSROOT", path)));
    }
    let error = command.args(&args[end..]).exec();
    Err(rustc::cannot_run(clang.path.as_os_str(), &error))
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
