//! `holloway __weave-module`: the worker process that weaves one module for the link step
//! (`weaver`).
//!
//! The subcommand is not for users. The link step passes the options. The worker writes the woven
//! module in the format of a cache entry (`holloway_weave::cache`). While it works on a function, a
//! *progress file* contains the function's name. If LLVM aborts the process, the link step's
//! message names that function.
//!
//! [`WorkerExit`] lists the exit codes. If the worker fails, the last line on stderr is its
//! message.

use std::ffi::OsString;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, Write as _};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use holloway_format::guide::GUIDE_MAGIC;
use holloway_format::{Guide, Plan, PlanError};
use holloway_llvm::Library;
use holloway_weave::cache::{Cache, Key, Place};
use holloway_weave::{
    EarlyBuild, Filter, LinkKind, ModuleOptions, OptLevel, Replacement, WeaveError, WovenModule,
    cache, weave_module,
};

use crate::collect_options::CollectOptions;
use crate::cpu_limit;
use crate::error::OptionError;
use crate::level;

/// The name of the hidden subcommand.
pub const COMMAND: &str = "__weave-module";
/// The value of `--early` for a plain build.
pub(crate) const PLAIN: &str = "plain";
/// The value of `--early` for a build that profiles the graph of the source.
pub(crate) const SOURCE: &str = "source";
/// The value of `--early` for a build for training.
pub(crate) const TRAINING: &str = "training";
/// The value of `--early` for a build that uses a plan.
pub(crate) const OPTIMIZED: &str = "optimized";

/// The exit codes of a worker. A worker with any other exit code crashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum WorkerExit {
    /// The result is written.
    Written = 0,
    /// The module or an option of the worker is invalid.
    Error = 3,
    /// The module can be neither woven nor compiled separately. The machine code of its object can
    /// be linked.
    Refused = 4,
    /// The weaver's checks found a bug of the weaver. The module can be compiled without probes.
    Internal = 5,
    /// The result is written, but must not be cached: the module's assembly includes files, so
    /// another run may give a different result.
    WrittenNotCached = 6,
    /// Weaving the module would give inexact counts. The module can be compiled without probes.
    Unfit = 7,
}

impl WorkerExit {
    /// Returns the meaning of an exit code. Returns `None` if the worker crashed.
    pub(crate) fn from_code(code: i32) -> Option<Self> {
        const ALL: [WorkerExit; 6] = [
            WorkerExit::Written,
            WorkerExit::Error,
            WorkerExit::Refused,
            WorkerExit::Internal,
            WorkerExit::WrittenNotCached,
            WorkerExit::Unfit,
        ];
        ALL.into_iter().find(|&exit| i32::from(exit as u8) == code)
    }
}

impl From<WorkerExit> for ExitCode {
    fn from(exit: WorkerExit) -> Self {
        Self::from(exit as u8)
    }
}

/// Runs the worker. `args` are the words after [`COMMAND`].
pub fn run(args: Vec<OsString>) -> ExitCode {
    match Request::parse(args).and_then(|request| request.serve()) {
        Ok(exit) => exit.into(),
        Err(error) => {
            report(&error);
            WorkerExit::Error.into()
        }
    }
}

/// The reason why a worker stops.
#[derive(Debug, thiserror::Error)]
enum WorkerError {
    #[error("{0} wants a value")]
    MissingValue(String),
    #[error("unknown option {0}")]
    UnknownOption(String),
    #[error("--early {0}: not a build of unoptimized bitcode")]
    EarlyBuild(String),
    #[error("{}: {source}", .path.display())]
    Plan { path: PathBuf, source: PlanError },
    #[error("--cpu-seconds {0}: not a number")]
    CpuSeconds(String),
    #[error("--kept {0}: not a key of the cache")]
    Key(String),
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
    /// What is made of bitcode that no optimizer has seen, by name.
    early: String,
    /// The plan of an optimized build.
    plan: PathBuf,
    /// The directory of the cache that keeps the code of an optimized build after the optimizer.
    cache: PathBuf,
    /// The key of this code. `None`: it is not kept.
    kept: Option<Key>,
    /// The CPU time that the worker may take, in seconds.
    cpu_seconds: Option<u64>,
    /// The module is a whole Rust program (`lto = "fat"`).
    whole_program: bool,
    /// The module's object contains machine code too.
    machine_code: bool,
    function_sections: bool,
    no_probes: bool,
    /// Debug locations are the numbers of instructions.
    numbers: bool,
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
            "--whole-program" => &mut self.whole_program,
            "--machine-code" => &mut self.machine_code,
            "--function-sections" => &mut self.function_sections,
            "--no-probes" => &mut self.no_probes,
            "--numbers" => &mut self.numbers,
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
            "--early" => self.early = text(),
            "--plan" => self.plan = value.into(),
            "--cache" => self.cache = value.into(),
            "--kept" => {
                let key = Key::from_hex(&text()).ok_or_else(|| WorkerError::Key(text()))?;
                self.kept = Some(key);
            }
            "--only" => self.only = text(),
            "--skip" => self.skip = text(),
            "--opt" => self.opt = level::parse(&text()),
            "--cpu-seconds" => {
                let seconds = text()
                    .parse()
                    .map_err(|_| WorkerError::CpuSeconds(text()))?;
                self.cpu_seconds = Some(seconds);
            }
            "--range" => self.range = parse_range(&text())?,
            _ => return Err(WorkerError::UnknownOption(name.to_owned())),
        }
        Ok(())
    }

    fn serve(&self) -> Result<WorkerExit> {
        no_core_files();
        if let Some(seconds) = self.cpu_seconds {
            cpu_limit::set(seconds);
        }
        let bitcode = self.read()?;
        let options = self.module_options()?;
        let llvm = Library::open(&self.llvm)?;
        let progress_file = File::create(&self.progress).map_err(writing(&self.progress))?;
        let mut progress = |name: &str| {
            // The name is overwritten and then truncated, because that is cheap. No process reads
            // the file before this process has ended.
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
        options.early = self.early_build()?;
        options.kept = self.kept.and_then(|key| self.place(key));
        options.numbers = self.numbers;
        options.filter = filter;
        options.std = self.std;
        options.fat = self.whole_program;
        options.machine_code = self.machine_code;
        options.function_sections = self.function_sections;
        options.probes = !self.no_probes;
        Ok(options)
    }

    /// The place of the optimized code. `None` if the cache cannot be used any more: then the code
    /// is made again.
    fn place(&self, key: Key) -> Option<Place> {
        let cache = Cache::open(&self.cache).ok()?;
        Some(Place { cache, key })
    }

    fn early_build(&self) -> Result<Option<EarlyBuild>> {
        Ok(match self.early.as_str() {
            "" => None,
            PLAIN => Some(EarlyBuild::Plain),
            SOURCE => Some(EarlyBuild::Source),
            TRAINING => Some(EarlyBuild::Training),
            OPTIMIZED => Some(EarlyBuild::Optimized(read_plan(&self.plan)?)),
            name => return Err(WorkerError::EarlyBuild(name.to_owned())),
        })
    }

    fn write(&self, woven: &WovenModule) -> Result<WorkerExit> {
        std::fs::write(&self.out, cache::encode(woven)).map_err(writing(&self.out))?;
        Ok(if woven.reads_files {
            WorkerExit::WrittenNotCached
        } else {
            WorkerExit::Written
        })
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

/// Reads a plan that the link step has checked.
fn read_plan(path: &Path) -> Result<Plan> {
    let bytes = std::fs::read(path).map_err(reading(path))?;
    Plan::parse(&bytes).map_err(|source| WorkerError::Plan {
        path: path.to_owned(),
        source,
    })
}

fn reading(path: &Path) -> impl FnOnce(io::Error) -> WorkerError {
    let path = path.to_owned();
    |source| WorkerError::Read { path, source }
}

fn writing(path: &Path) -> impl FnOnce(io::Error) -> WorkerError {
    let path = path.to_owned();
    |source| WorkerError::Write { path, source }
}

/// Switches core files off. LLVM sometimes aborts a worker, and a core file would only confuse the
/// user.
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

/// Reports why the module is not woven, and returns the exit code that says how the module can be
/// linked. The message leaves out the module's name, because the link step adds a better name.
fn report_weaving(error: &WeaveError) -> WorkerExit {
    match error {
        WeaveError::Refused {
            reason,
            replacement,
            ..
        } => {
            report(reason);
            match replacement {
                Replacement::AsItIs => WorkerExit::Refused,
                Replacement::Compiled => WorkerExit::Unfit,
            }
        }
        WeaveError::Internal { .. } | WeaveError::InternalModule(_) => {
            report(error);
            WorkerExit::Internal
        }
        WeaveError::Llvm(llvm) => {
            report(&llvm.reason());
            if error.is_refusal() {
                WorkerExit::Refused
            } else {
                WorkerExit::Error
            }
        }
        _ => {
            report(error);
            WorkerExit::Error
        }
    }
}

/// Writes a message to stderr as one line, because the link step reads only the last line.
fn report(message: &impl Display) {
    let message = message.to_string();
    let lines: Vec<&str> = message
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    // If stderr is closed, the link step still gets the exit code.
    writeln!(io::stderr(), "{}", lines.join("; ")).ok();
}
