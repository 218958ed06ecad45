//! `holloway cc` and `holloway c++`: clang, with bitcode in its objects and our link step behind
//! it.
//!
//! When clang compiles, the user's words stay as they are and ours follow. The result is a *fat*
//! object: machine code with the bitcode in a section beside it, so that ar, nm, libtool, and other
//! linkers see a normal object. When clang links, it calls our ld (`--ld-path`), and our ld calls
//! the linker that clang would have called. A call that neither compiles nor links (`--version`,
//! `-E`, `-S`, `-print-…`, a header to precompile) goes to clang untouched, so that configure
//! scripts and CMake recognize it.

mod words;

use std::convert::Infallible;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use holloway_abi::environment;

use crate::clang::{Purpose, find_clang};
use crate::collect_options::CollectOptions;
use crate::error::{Error, Result};
use crate::host::{GuideCheck, Host};
use crate::tools::{LD, tools_dir};
use words::CompilerCall;

/// The language whose driver is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// `holloway cc`.
    C,
    /// `holloway c++`.
    Cxx,
}

/// The words that follow the user's when something is compiled. Split LTO units are off because
/// they are two modules in one file, which the C API cannot read. Whole-program vtables are off
/// because they hold for merged modules only.
const COMPILE: [&str; 4] = [
    "-flto",
    "-ffat-lto-objects",
    "-fno-whole-program-vtables",
    "-fno-split-lto-unit",
];
/// Reports show a path by its places in the source.
const LINES: &str = "-gline-tables-only";

/// A module can be embedded once, and ours is in `.llvm.lto`. Asked for a second copy, clang
/// crashes.
const EMBEDDED: &str = "-fembed-bitcode=off";

/// With a sanitizer clang warns that the second half of a fat object needs no second
/// instrumentation.
const REDUNDANT: &str = "-Wno-backend-plugin";

/// Becomes clang with `args`, among which our own options may stand. Returns only if clang cannot
/// be started.
///
/// # Errors
/// An option has a wrong value, there is no clang to call, or it cannot be run.
pub fn cc(language: Language, args: Vec<OsString>, host: &dyn Host) -> Result<Infallible> {
    let (options, args) = CollectOptions::take_anywhere(args)?;
    let call = CompilerCall::read(&args)?;
    if call.compiles || call.links {
        check_guide(&call, options.clone(), host)?;
    }
    if call.compiles && call.control_flow_integrity {
        return Err(Error::ControlFlowIntegrity);
    }
    let clang = find_clang(if call.links {
        Purpose::Link
    } else {
        Purpose::Compile
    })?;
    let mut command = Command::new(&clang.path);
    command.args(language.driver_mode());
    // After a lone `--` every word is a file.
    let end = args
        .iter()
        .position(|arg| arg == "--")
        .unwrap_or(args.len());
    command.args(&args[..end]);
    if call.compiles {
        command.args(COMPILE);
        command.args((!call.debug).then_some(LINES));
        command.args(call.sanitizes.then_some(REDUNDANT));
        command.args(call.embeds_bitcode.then_some(EMBEDDED));
    }
    if call.links {
        let mut ld = OsString::from("--ld-path=");
        ld.push(tools_dir()?.join(LD));
        command.arg(ld);
        command.env(environment::LD.name, real_ld(&clang.path, language, &args)?);
        command.envs(options.environment());
        command.envs(call.opt.map(|level| (environment::internal::OPT, level)));
        command.envs(clang.sysroot.map(|path| (environment::SYSROOT.name, path)));
    }
    let source = command.args(&args[end..]).exec();
    Err(cannot_run(&clang.path, source))
}

impl Language {
    /// The option that makes clang the language's driver.
    fn driver_mode(self) -> Option<&'static str> {
        match self {
            Self::C => None,
            Self::Cxx => Some("--driver-mode=g++"),
        }
    }
}

/// Checks the options and the guide. The link would find a mistake too, but long after the
/// compilation, and clang would add its own message.
fn check_guide(call: &CompilerCall, options: CollectOptions, host: &dyn Host) -> Result<()> {
    let Some(guide) = options.or_environment()?.guide else {
        return Ok(());
    };
    let check = if call.links {
        GuideCheck::Readable
    } else {
        GuideCheck::Exists
    };
    host.check_guide(&guide, check).map_err(Error::Guide)
}

/// The linker that clang would have called: the program of the last job it would run (`-###`).
fn real_ld(clang: &Path, language: Language, args: &[OsString]) -> Result<OsString> {
    if let Some(set) = std::env::var_os(environment::LD.name).filter(|set| !set.is_empty()) {
        return Ok(set);
    }
    let mut command = Command::new(clang);
    command.args(language.driver_mode()).arg("-###").args(args);
    let output = command
        .output()
        .map_err(|source| cannot_run(clang, source))?;
    let jobs = String::from_utf8_lossy(&output.stderr).into_owned();
    // Each job is a line of words in quotes.
    let last = jobs.lines().rfind(|line| line.starts_with(" \""));
    let program = last.and_then(|line| shlex::Shlex::new(line).next());
    // When clang sees an error in the line, it reports the error itself.
    Ok(program.map_or_else(|| "ld".into(), OsString::from))
}

fn cannot_run(clang: &Path, source: io::Error) -> Error {
    Error::Run {
        program: clang.as_os_str().to_owned(),
        source,
    }
}
