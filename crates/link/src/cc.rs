//! `holloway cc` and `holloway c++`: they call clang so that its objects contain bitcode, and so
//! that it calls `holloway-ld` to link.
//!
//! When clang compiles, the user's words stay unchanged and our options follow. The result is a
//! *fat* object: machine code, with the bitcode in an additional section. So ar, nm, libtool, and
//! other linkers see a normal object. When clang links, it calls `holloway-ld` (`--ld-path`), and
//! `holloway-ld` calls the linker that clang would have called. A call that neither compiles nor
//! links (`--version`, `-E`, `-S`, `-print-…`, a header to precompile) is passed to clang
//! unchanged, so that configure scripts and CMake recognize clang.

mod words;

use std::convert::Infallible;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use holloway_abi::environment;

use crate::clang::{Purpose, find_clang};
use crate::collect_options::{CollectOptions, GraphStage};
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

/// Options for a compilation, which follow the user's words. Split LTO units are off because they
/// are two modules in one file, which LLVM's C API cannot read. Whole-program vtables are off
/// because they are correct only if all modules are merged.
const COMPILE_OPTIONS: [&str; 4] = [
    "-flto",
    "-ffat-lto-objects",
    "-fno-whole-program-vtables",
    "-fno-split-lto-unit",
];
/// Options for a compilation with `--embed` or `--graph source`, which follow the user's words. The
/// object has only bitcode, and no optimizer has seen it. A fat object would have slow machine
/// code.
const UNOPTIMIZED_OPTIONS: [&str; 6] = [
    "-flto",
    "-fno-fat-lto-objects",
    "-fno-whole-program-vtables",
    "-fno-split-lto-unit",
    "-Xclang",
    "-disable-llvm-passes",
];
/// Options for a compilation with `--graph source`, besides [`UNOPTIMIZED_OPTIONS`]. With markers
/// for the lifetimes of variables, a `return` or `break` out of a block with variables shares the
/// block's end with the other ways out, and a switch divides them again. The source has no such
/// branch, and most of its combinations are impossible.
const SOURCE_GRAPH_OPTIONS: [&str; 2] = ["-Xclang", "-disable-lifetime-markers"];
/// Keeps line tables, because reports show the source lines of a path.
const LINE_TABLES: &str = "-gline-tables-only";

/// Switches off the user's `-fembed-bitcode`. A module can be embedded once, and a fat object has
/// its bitcode in `.llvm.lto`. If clang is asked for a second copy, it crashes.
const NO_SECOND_BITCODE: &str = "-fembed-bitcode=off";

/// Suppresses a warning: with a sanitizer, clang warns of redundant instrumentation in the second
/// half of a fat object.
const NO_SANITIZER_WARNING: &str = "-Wno-backend-plugin";

/// Replaces this process by clang with `args`, which may contain holloway's options (`--collect`).
/// Returns only if clang cannot be started.
///
/// # Errors
/// If an option has a wrong value, there is no clang to call, or clang cannot be run.
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
    let options_end = args
        .iter()
        .position(|arg| arg == "--")
        .unwrap_or(args.len());
    command.args(&args[..options_end]);
    let embeds = options.embeds();
    if call.compiles && embeds {
        if call.sanitizes {
            return Err(Error::EmbedWithSanitizer);
        }
        command.args(UNOPTIMIZED_OPTIONS);
        command.args(call.embeds_bitcode.then_some(NO_SECOND_BITCODE));
    } else if call.compiles && options.graph() == GraphStage::Source {
        if call.sanitizes {
            return Err(Error::SourceGraphWithSanitizer);
        }
        command.args(UNOPTIMIZED_OPTIONS);
        command.args(SOURCE_GRAPH_OPTIONS);
        command.args((!call.line_tables).then_some(LINE_TABLES));
        command.args(call.embeds_bitcode.then_some(NO_SECOND_BITCODE));
    } else if call.compiles {
        command.args(COMPILE_OPTIONS);
        command.args((!call.line_tables).then_some(LINE_TABLES));
        command.args(call.sanitizes.then_some(NO_SANITIZER_WARNING));
        command.args(call.embeds_bitcode.then_some(NO_SECOND_BITCODE));
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
    let source = command.args(&args[options_end..]).exec();
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

/// Checks the options and the guide before the compilation. The link would report an error only
/// long after the compilation, and clang would add an error message.
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

/// Returns the linker that clang would have called: the program of the last command that clang
/// lists with `-###`.
fn real_ld(clang: &Path, language: Language, args: &[OsString]) -> Result<OsString> {
    if let Some(set) = std::env::var_os(environment::LD.name).filter(|set| !set.is_empty()) {
        return Ok(set);
    }
    let mut command = Command::new(clang);
    command.args(language.driver_mode()).arg("-###").args(args);
    let output = command
        .output()
        .map_err(|source| cannot_run(clang, source))?;
    let listing = String::from_utf8_lossy(&output.stderr).into_owned();
    // Each command is a line of words in quotes.
    let last_command = listing.lines().rfind(|line| line.starts_with(" \""));
    let program = last_command.and_then(|line| shlex::Shlex::new(line).next());
    // When clang sees an error in the line, it reports the error itself.
    Ok(program.map_or_else(|| "ld".into(), OsString::from))
}

fn cannot_run(clang: &Path, source: io::Error) -> Error {
    Error::Run {
        program: clang.as_os_str().to_owned(),
        source,
    }
}
