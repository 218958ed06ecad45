//! `holloway __weave-module`: weaves one module in a process of its own, for the link step
//! (`weaver`).
//!
//! The subcommand is not for users. The link step passes the options, and the result is a cache
//! entry (`holloway_weave::cache`). The worker keeps the name of the function it works on in a
//! file, for the message when LLVM kills the process.
//!
//! | exit code | meaning |
//! |---|---|
//! | 0 | the result is written |
//! | `NOT_KEPT` | the result is written; it must not be cached |
//! | `ERROR` | an error; the last line on stderr is its message |
//! | `REFUSED` | the module can neither be woven nor compiled alone; it can be linked as it is |
//! | `UNFIT` | the module cannot be woven; it can be compiled without probes |
//! | `INTERNAL` | a bug of the weaver; the module can be compiled without probes |
//! | other | a crash |

use std::ffi::OsString;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, Write as _};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use holloway_format::Guide;
use holloway_format::guide::GUIDE_MAGIC;
use holloway_llvm::Library;
use holloway_weave::{
    Filter, Instead, LinkKind, ModuleOptions, OptLevel, WeaveError, WovenModule, cache,
    weave_module,
};

use crate::collect_options::CollectOptions;
use crate::error::OptionError;
use crate::level;

/// The hidden subcommand.
pub const COMMAND: &str = "__weave-module";
/// The module or the request is wrong.
pub(crate) const ERROR: u8 = 3;
/// The module is sound, but can only be linked as it is.
pub(crate) const REFUSED: u8 = 4;
/// Weaving broke one of its own rules: the module can be compiled without probes.
pub(crate) const INTERNAL: u8 = 5;

/// The module is woven. Its assembly includes files, so another run may give another result.
pub(crate) const NOT_KEPT: u8 = 6;
/// The module is sound, and can be compiled without probes.
pub(crate) const UNFIT: u8 = 7;

/// Runs the worker; `args` are the words after [`COMMAND`].
pub fn run(args: Vec<OsString>) -> ExitCode {
    match Request::parse(args).and_then(|request| request.serve()) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            report(&error);
            ExitCode::from(ERROR)
        }
    }
}

/// Why a worker cannot do its work.
#[derive(Debug, thiserror::Error)]
enum WorkerError {
    #[error("{0} wants a value")]
    MissingValue(String),
    #[error("unknown option {0}")]
    UnknownOption(String),
    #[error("--range {0}: not of the form START..END")]
    Range(String),
    #[error(transparent)]
    Option(#[from] OptionError),
    #[error("{0}")]
    Pattern(Box<dyn std::error::Error + Send + Sync>),
    #[error("cannot read {}: {source}", .path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot write {}: {source}", .path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot take {} for a guide: {reason}", .path.display())]
    Guide {
        path: PathBuf,
        reason: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error(transparent)]
    Llvm(#[from] holloway_llvm::LlvmError),
}

type Result<T> = std::result::Result<T, WorkerError>;

#[derive(Debug, Default)]
struct Request {
    llvm: PathBuf,
    file: PathBuf,
    range: Range<u64>,
    name: String,
    out: PathBuf,
    progress: PathBuf,
    options: CollectOptions,
    only: String,
    skip: String,
    opt: Option<OptLevel>,
    shared: bool,
    std: bool,
    fat: bool,
    machine_code: bool,
    function_sections: bool,
    no_probes: bool,
}

impl Request {
    fn parse(args: Vec<OsString>) -> Result<Self> {
        let mut request = Self::default();
        let mut args = args.into_iter();
        while let Some(arg) = args.next() {
            let name = arg.to_string_lossy().into_owned();
            if let Some(flag) = request.flag(&name) {
                *flag = true;
                continue;
            }
            let value = args
                .next()
                .ok_or_else(|| WorkerError::MissingValue(name.clone()))?;
            request.option(&name, value)?;
        }
        Ok(request)
    }

    fn flag(&mut self, name: &str) -> Option<&mut bool> {
        Some(match name {
            "--shared" => &mut self.shared,
            "--std" => &mut self.std,
            "--fat" => &mut self.fat,
            "--machine-code" => &mut self.machine_code,
            "--function-sections" => &mut self.function_sections,
            "--no-probes" => &mut self.no_probes,
            _ => return None,
        })
    }

    fn option(&mut self, name: &str, value: OsString) -> Result<()> {
        let text = || value.to_string_lossy().into_owned();
        match name {
            "--llvm" => self.llvm = value.into(),
            "--file" => self.file = value.into(),
            "--out" => self.out = value.into(),
            "--progress" => self.progress = value.into(),
            "--name" => self.name = text(),
            "--collect" | "--exits" | "--guide" => {
                self.options.set(name, &value)?;
            }
            "--only" => self.only = text(),
            "--skip" => self.skip = text(),
            "--opt" => self.opt = level::parse(&text()),
            "--range" => self.range = parse_range(&text())?,
            _ => return Err(WorkerError::UnknownOption(name.to_owned())),
        }
        Ok(())
    }

    fn serve(&self) -> Result<u8> {
        no_core_files();
        let bitcode = self.read()?;
        let options = self.module_options()?;
        let llvm = Library::open(&self.llvm)?;
        let progress_file = File::create(&self.progress).map_err(writing(&self.progress))?;
        let mut progress = |name: &str| {
            // Overwriting and then truncating is cheap. Nobody reads the file while this process
            // lives.
            let _ = progress_file
                .write_all_at(name.as_bytes(), 0)
                .and_then(|()| progress_file.set_len(name.len() as u64));
        };
        match weave_module(&llvm, &bitcode, &options, &mut progress) {
            Ok(woven) => self.write(&woven),
            Err(error) => Ok(report_weaving(&error)),
        }
    }

    fn read(&self) -> Result<Vec<u8>> {
        let length = usize::try_from(self.range.end.saturating_sub(self.range.start))
            .map_err(io::Error::other)
            .map_err(reading(&self.file))?;
        let mut bitcode = vec![0; length];
        let file = File::open(&self.file).map_err(reading(&self.file))?;
        file.read_exact_at(&mut bitcode, self.range.start)
            .map_err(reading(&self.file))?;
        Ok(bitcode)
    }

    fn module_options(&self) -> Result<ModuleOptions> {
        let filter = Filter::parse(&self.only, &self.skip)
            .map_err(|reason| WorkerError::Pattern(reason.into()))?;
        let kind = if self.shared {
            LinkKind::SharedObject
        } else {
            LinkKind::Executable
        };
        let mut options = ModuleOptions::new(&self.name, kind, self.options.kind());
        options.exits = self.options.counts_exits();
        options.guide = self.options.guide.as_deref().map(read_guide).transpose()?;
        options.opt = self.opt;
        options.filter = filter;
        options.std = self.std;
        options.fat = self.fat;
        options.machine_code = self.machine_code;
        options.function_sections = self.function_sections;
        options.probes = !self.no_probes;
        Ok(options)
    }

    fn write(&self, woven: &WovenModule) -> Result<u8> {
        std::fs::write(&self.out, cache::encode(woven)).map_err(writing(&self.out))?;
        Ok(if woven.reads_files { NOT_KEPT } else { 0 })
    }
}

fn parse_range(text: &str) -> Result<Range<u64>> {
    let range = text
        .split_once("..")
        .and_then(|(start, end)| Some(start.parse().ok()?..end.parse().ok()?));
    range.ok_or_else(|| WorkerError::Range(text.to_owned()))
}

/// Reads the guide that the link step wrote for its workers.
fn read_guide(path: &Path) -> Result<Guide> {
    let bytes = std::fs::read(path).map_err(reading(path))?;
    let unusable = |reason| WorkerError::Guide {
        path: path.to_owned(),
        reason,
    };
    if !bytes.starts_with(&GUIDE_MAGIC) {
        return Err(unusable("it is no guide".into()));
    }
    Guide::decode(&bytes).map_err(|error| unusable(error.into()))
}

fn reading(path: &Path) -> impl FnOnce(io::Error) -> WorkerError {
    let path = path.to_owned();
    |source| WorkerError::Read { path, source }
}

fn writing(path: &Path) -> impl FnOnce(io::Error) -> WorkerError {
    let path = path.to_owned();
    |source| WorkerError::Write { path, source }
}

/// LLVM may kill a worker now and then. A core file would only surprise the user.
fn no_core_files() {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let _ = setrlimit(
        Resource::Core,
        Rlimit {
            current: Some(0),
            maximum: Some(0),
        },
    );
}

/// Reports why the module is not woven. The message leaves out the module's name, because the link
/// step knows a better one. The exit code says how the module can be linked.
fn report_weaving(error: &WeaveError) -> u8 {
    match error {
        WeaveError::Refused {
            reason, instead, ..
        } => {
            report(reason);
            match instead {
                Instead::AsItIs => REFUSED,
                Instead::Compiled => UNFIT,
            }
        }
        WeaveError::Internal { .. } => {
            report(error);
            INTERNAL
        }
        WeaveError::Llvm(llvm) => {
            report(&llvm.reason());
            if error.is_refusal() { REFUSED } else { ERROR }
        }
        _ => {
            report(error);
            ERROR
        }
    }
}

/// Writes a message to stderr as one line, because the link step reads the last line only.
fn report(message: &impl Display) {
    let message = message.to_string();
    let lines: Vec<&str> = message
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    // If stderr is closed, the link step still has the exit code.
    writeln!(io::stderr(), "{}", lines.join("; ")).ok();
}
