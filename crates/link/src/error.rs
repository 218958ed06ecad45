//! The errors that stop a wrapper or a link.
//!
//! The messages are the sentences that the user reads after `holloway: `. The crate `holloway`
//! derives its exit status from [`Error::fault`], never from the text.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use holloway_abi::environment;
use holloway_format::FormatError;
use holloway_llvm::LlvmError;
use holloway_weave::archive::ArchiveError;
use holloway_weave::image::Machine;
use holloway_weave::input::InputError;

use crate::host::GuideError;

/// The result of a function in this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// The cause of an [`Error`], as far as the exit status distinguishes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The command line or a variable is wrong.
    Usage,
    /// The program to run does not exist.
    ProgramNotFound,
    /// The program to run exists but cannot be executed.
    ProgramNotRunnable,
    /// Any other error.
    Work,
}

/// An error in one of holloway's options or its environment variable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// The option has no value.
    #[error("{option} wants {example}")]
    MissingValue {
        /// The option.
        option: String,
        /// A description of the expected value, with an example.
        example: &'static str,
    },
    /// Another option follows instead of the value.
    #[error("{option} wants {example}, not {value}")]
    OptionAsValue {
        /// The option.
        option: String,
        /// A description of the expected value, with an example.
        example: &'static str,
        /// The word that follows the option.
        value: String,
    },
    /// The value is wrong.
    #[error("{option} {value}: {reason}")]
    Value {
        /// The option.
        option: String,
        /// Its value.
        value: String,
        /// The reason why the value is wrong.
        reason: Box<OptionError>,
    },
    /// The value of an option's variable is wrong.
    #[error("{variable}={value}: {reason}")]
    Variable {
        /// The variable.
        variable: &'static str,
        /// Its value.
        value: String,
        /// The reason why the value is wrong.
        reason: Box<OptionError>,
    },
    /// `--collect` names no kind of profile.
    #[error("no such kind; there are paths, edges, loops (loops=K), trace, variation and times")]
    Kind,
    /// `K` of `loops=K` is no number of iterations.
    #[error("K is a number of iterations from {least} to {most}, as in loops={default}")]
    Iterations {
        /// The smallest number allowed.
        least: u32,
        /// The largest number allowed.
        most: u32,
        /// The default number.
        default: u32,
    },
    /// `--exits` is neither on nor off.
    #[error("say on or off")]
    Switch,
    /// `--graph` is neither source nor optimized.
    #[error("say source or optimized")]
    Graph,
    /// `--embed` is given together with an option for probes.
    #[error(
        "--embed builds a program without probes, which `holloway optimize` trains: leave out --collect, --exits, --graph, and --guide"
    )]
    EmbedWithProbes,
    /// `--exits` is given for a kind that does not take it.
    #[error(
        "--exits (or {variable}) goes with paths, edges and loops; {kind} {reason}: leave it out"
    )]
    ExitsOfKind {
        /// The option's variable.
        variable: &'static str,
        /// The kind of profile.
        kind: String,
        /// How the kind treats frames that are left in a call.
        reason: &'static str,
    },
}

/// An error that stops a wrapper or a link.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// One of holloway's options is wrong.
    #[error(transparent)]
    Option(#[from] OptionError),
    /// A variable is not UTF-8.
    #[error("{variable} is not UTF-8")]
    NotUtf8 {
        /// The variable.
        variable: String,
    },
    /// `HOLLOWAY_JOBS` is no number of processes.
    #[error("{}={value}: give a number of processes, 1 or more", environment::JOBS.name)]
    Jobs {
        /// Its value.
        value: String,
    },
    /// `HOLLOWAY_RUNS` does not fit into the image header.
    #[error("{} is longer than 895 bytes: name a directory with a shorter path", environment::RUNS.name)]
    RunsTooLong,
    /// A variable holds a pattern that cannot be parsed.
    #[error("{variable}: {reason}")]
    Patterns {
        /// The variable.
        variable: String,
        /// The reason.
        reason: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A pattern that was accepted once cannot be parsed any more.
    #[error("{0}")]
    Pattern(Box<dyn std::error::Error + Send + Sync>),
    /// The rustc wrapper was called without a rustc.
    #[error("holloway-rustc is called by cargo (RUSTC_WRAPPER), with rustc and its arguments")]
    NoRustc,
    /// The compiler cannot be started.
    #[error("cannot run {}: {source}", .program.display())]
    Run {
        /// The program.
        program: OsString,
        /// The reason.
        source: io::Error,
    },

    /// A file cannot be read.
    #[error("cannot read {}: {source}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {}: {source}", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A file cannot be removed.
    #[error("cannot remove {}: {source}", .path.display())]
    Remove {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A program that was woven with other settings cannot be removed.
    #[error("cannot remove {}, which is woven with other settings: {source}", .path.display())]
    RemoveOutdated {
        /// The program.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The build directory cannot be created.
    #[error("cannot create the build directory {}: {source}", .path.display())]
    BuildDirectory {
        /// The directory.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A directory for the records of links cannot be created.
    #[error("cannot make a directory in {}: {source}", .path.display())]
    RecordsDirectory {
        /// The parent directory.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The link's private directory cannot be created.
    #[error("cannot make a directory in {} (TMPDIR): {source}", .path.display())]
    ScratchDirectory {
        /// The temporary directory.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The directory with the symlinks of holloway's tools cannot be created.
    #[error("cannot make the directory of linker names {}: {source}; set XDG_CACHE_HOME to a writable directory", .path.display())]
    ToolsDirectory {
        /// The directory that was tried last.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The path of holloway's executable is unknown.
    #[error("cannot find holloway's own executable: {0}")]
    OwnExecutable(io::Error),

    /// rustc or another tool cannot be started.
    #[error("cannot run {}: {source}", .program.display())]
    Tool {
        /// The program.
        program: OsString,
        /// The reason.
        source: io::Error,
    },
    /// rustc fails to answer a question.
    #[error("cannot run {} {arguments}: {stderr}", .program.display())]
    ToolFailed {
        /// The program.
        program: OsString,
        /// Its arguments.
        arguments: String,
        /// Its output to stderr.
        stderr: String,
    },
    /// The output of rustc does not contain its host.
    #[error("cannot tell rustc's host: `rustc -vV` has no `host:` line")]
    NoHost,
    /// No libLLVM can be loaded.
    #[error("{}", causes(.source))]
    Llvm {
        /// The reason.
        source: LlvmError,
    },
    /// The libLLVM that the user names cannot be loaded.
    #[error("{}; HOLLOWAY_LLVM names it: name a libLLVM (libLLVM.so of a Rust toolchain or of LLVM 19 or later), or unset it", causes(.source))]
    NamedLlvm {
        /// The reason.
        source: LlvmError,
    },
    /// The clang that the user names does not exist.
    #[error("no clang {}: HOLLOWAY_CLANG names it; correct or unset it", .name.display())]
    NoNamedClang {
        /// The name.
        name: OsString,
    },
    /// There is no clang.
    #[error(
        "no clang in PATH: install one (Debian: apt install clang-19), or name it in HOLLOWAY_CLANG"
    )]
    NoClang,
    /// Every clang is newer than libLLVM.
    #[error(
        "clang {version} ({}) is newer than libLLVM {}.{}.{} ({}), which cannot read its bitcode; \
         install clang-{} or older, or name a newer libLLVM in HOLLOWAY_LLVM",
        .path.display(), .llvm.0, .llvm.1, .llvm.2, .library.display(), .llvm.0
    )]
    ClangTooNew {
        /// The oldest clang.
        path: PathBuf,
        /// Its major version.
        version: u32,
        /// Version of libLLVM.
        llvm: (u32, u32, u32),
        /// The libLLVM.
        library: PathBuf,
    },
    /// `-fsanitize=cfi` is given, which needs the whole program.
    #[error(
        "-fsanitize=cfi checks types over the whole program, and holloway weaves each file alone; \
         compile without it"
    )]
    ControlFlowIntegrity,

    /// The run that `--guide` names cannot be used.
    #[error("{0}")]
    Guide(GuideError),

    /// Response files name each other.
    #[error("response file {} names itself", .file.display())]
    ResponseLoop {
        /// One of the files, with its `@`.
        file: OsString,
    },
    /// An archive cannot be read or written.
    #[error("{}: {source}", .path.display())]
    Archive {
        /// The archive.
        path: PathBuf,
        /// The reason.
        source: ArchiveError,
    },
    /// An input is damaged.
    #[error("{input}: {source}")]
    Input {
        /// The input: `libx.a(y.o)`.
        input: String,
        /// The reason.
        source: InputError,
    },
    /// An archive changed after its modules were found.
    #[error("{} changed while it was being linked; link again", .path.display())]
    ArchiveChanged {
        /// The archive.
        path: PathBuf,
    },
    /// A module is for a machine that holloway does not support.
    #[error(
        "{module}: weaving supports x86-64 and aarch64 only; link this program without holloway"
    )]
    UnsupportedMachine {
        /// The module.
        module: String,
    },
    /// Modules are for different machines.
    #[error("{module} is for {machine}, the link for {link}: give it files of one machine")]
    MixedMachines {
        /// The module.
        module: String,
        /// The module's machine.
        machine: Machine,
        /// The machine of the link.
        link: Machine,
    },
    /// A file is no ELF program.
    #[error("{} is no program for Linux", .path.display())]
    NotAProgram {
        /// The file.
        path: PathBuf,
    },
    /// The recipe that a program carries cannot be read.
    #[error("cannot read the recipe of {}: {source}", .path.display())]
    Recipe {
        /// The program.
        path: PathBuf,
        /// The reason.
        source: FormatError,
    },
    /// The linker that linked a program does not exist any more.
    #[error("the linker of this program, {}, is not here: install it, or link the program again", .path.display())]
    NoRecipeLinker {
        /// The linker.
        path: PathBuf,
    },
    /// The recipe of a program cannot be compressed.
    #[error("cannot compress the recipe: {0}")]
    Compress(io::Error),
    /// A sanitizer is combined with `--embed`.
    #[error(
        "--embed leaves optimization to the link, where sanitizers do not run: compile without -fsanitize, or without --embed"
    )]
    EmbedWithSanitizer,
    /// A sanitizer is combined with `--graph source`.
    #[error(
        "--graph source leaves optimization to the link, where sanitizers do not run: compile without -fsanitize, or without --graph source"
    )]
    SourceGraphWithSanitizer,
    /// The image object cannot be built.
    #[error("cannot build the path map's object: {0}")]
    ImageObject(Box<dyn std::error::Error + Send + Sync>),
    /// This build of holloway has no runtime for a machine.
    #[error(
        "this holloway has no runtime for the machine linked for: rustup target add {target}, and build holloway again"
    )]
    NoRuntime {
        /// The Rust target that the runtime is built for.
        target: &'static str,
    },
    /// A worker process cannot be started.
    #[error("cannot start a worker process for {module}: {source}")]
    StartWorker {
        /// The module.
        module: String,
        /// The reason.
        source: io::Error,
    },
    /// A module is invalid: it cannot be compiled, and it has no machine code to link.
    #[error("{module}: {reason}")]
    Module {
        /// The module.
        module: String,
        /// The worker's message.
        reason: String,
    },
    /// A module cannot be linked: weaving it fails, and libLLVM crashes when it compiles the module
    /// without probes.
    #[error(
        "{reason}, without probes too; link this program without holloway, or name another libLLVM in HOLLOWAY_LLVM"
    )]
    Weaving {
        /// The failure of weaving.
        reason: String,
    },
    /// The linker that the user names does not exist.
    #[error("no linker {}: {variable} names it; correct or unset it", .name.display())]
    NoNamedLinker {
        /// The name.
        name: OsString,
        /// The variable.
        variable: &'static str,
    },
    /// There is no linker.
    #[error(
        "no linker {name}: install gcc or clang and binutils (Debian: apt install gcc), or name one in {variable}"
    )]
    NoLinker {
        /// The default name.
        name: &'static str,
        /// The variable that can name another.
        variable: &'static str,
    },
    /// The linker cannot be started.
    #[error("cannot run the linker {}: {source}", .path.display())]
    RunLinker {
        /// The linker.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
}

impl Error {
    /// Returns the cause of the error, for the exit status.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Option(_)
            | Self::NotUtf8 { .. }
            | Self::Jobs { .. }
            | Self::RunsTooLong
            | Self::Patterns { .. }
            | Self::Pattern(_)
            | Self::EmbedWithSanitizer
            | Self::SourceGraphWithSanitizer
            | Self::NoRustc => Fault::Usage,
            Self::Run { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                Fault::ProgramNotFound
            }
            Self::Run { .. } => Fault::ProgramNotRunnable,
            _ => Fault::Work,
        }
    }

    /// Converts an I/O error of a read: `.map_err(Error::reading(path))`.
    pub(crate) fn reading(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |source| Self::Read { path, source }
    }

    /// Converts an I/O error of a write: `.map_err(Error::writing(path))`.
    pub(crate) fn writing(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |source| Self::Write { path, source }
    }
}

/// Formats an error of libLLVM with all its causes.
fn causes(error: &LlvmError) -> String {
    let mut message = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        message.push_str(&format!(": {error}"));
        cause = error.source();
    }
    message
}
