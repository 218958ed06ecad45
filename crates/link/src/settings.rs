//! The settings of a link step, from the environment: `cargo holloway`, `holloway cc`, or the user
//! set the variables.
//!
//! | variable | meaning |
//! |---|---|
//! | `HOLLOWAY_COLLECT` | kind of profile, `paths` by default; `loops=K` follows K iterations |
//! | `HOLLOWAY_EXITS` | `on`, `off`: frames that are left early count or not |
//! | `HOLLOWAY_GUIDE` | earlier run that guides the placing of probes |
//! | `HOLLOWAY_STD` | 1: weave the standard library's embedded bitcode too |
//! | `HOLLOWAY_ONLY`, `HOLLOWAY_SKIP` | patterns, one a line |
//! | `HOLLOWAY_LLVM`, `HOLLOWAY_SYSROOT` | libLLVM, or the toolchain it comes with |
//! | `HOLLOWAY_CACHE` | directory of woven modules; empty: none |
//! | `HOLLOWAY_RUNS` | directory of runs, written into the image |
//! | `HOLLOWAY_JOBS` | the most worker processes at a time; a jobserver may allow fewer |
//! | `HOLLOWAY_OPT` | optimization level of the link (`holloway cc` passes its `-O` on) |

use std::ffi::OsString;
use std::path::PathBuf;

use holloway_abi::Kind;
use holloway_abi::environment::{self, Flag, InvalidNumber, Number};
use holloway_weave::{OptLevel, Pattern};

use crate::collect_options::CollectOptions;
use crate::error::{Error, Result};
use crate::level;
use crate::line::{Line, Output};
use crate::tools::cache_home;

/// Settings of one link.
#[derive(Debug)]
pub(crate) struct LinkSettings {
    /// Kind of profile.
    pub(crate) collect: Kind,
    /// Iterations that loops are seen over. Only the image holds them, so that another number needs
    /// no module woven again.
    pub(crate) k: u32,
    /// Frames that are left early count.
    pub(crate) exits: bool,
    /// The run that guides the placing of probes.
    pub(crate) guide: Option<PathBuf>,
    /// The standard library's embedded bitcode is woven too.
    pub(crate) std: bool,
    /// Patterns, one a line.
    pub(crate) only: String,
    /// Patterns, one a line.
    pub(crate) skip: String,
    /// Directory of woven modules.
    pub(crate) cache: Option<PathBuf>,
    /// Default directory of runs.
    pub(crate) runs: OsString,
    /// Worker processes at a time, at least 1.
    pub(crate) jobs: usize,
    /// Level of all modules. Without it each module has its own.
    pub(crate) opt: Option<OptLevel>,
    /// The code is for a shared object, or for an output that is not known yet (`-r`).
    pub(crate) shared: bool,
    /// Probes are put in.
    pub(crate) probes: bool,
    /// Each function is in a section of its own.
    pub(crate) function_sections: bool,
}

impl LinkSettings {
    /// Settings of `line`: the options given, everything else from this process's environment.
    ///
    /// # Errors
    /// When a variable has a wrong value.
    pub(crate) fn new(line: &Line, options: CollectOptions) -> Result<Self> {
        let options = options.or_environment()?;
        let jobs = jobs(text(environment::JOBS.name)?)?;
        let Ok(std) = environment::STD.parse(text(environment::STD.name)?.as_bytes());
        let opt = text(environment::internal::OPT)?;
        Ok(Self {
            collect: options.kind(),
            k: options.collection().k,
            exits: options.counts_exits(),
            guide: options.guide,
            std: std == Flag::Set,
            only: patterns(environment::ONLY.name)?,
            skip: patterns(environment::SKIP.name)?,
            cache: match std::env::var_os(environment::CACHE.name) {
                Some(directory) => (!directory.is_empty()).then(|| directory.into()),
                None => cache_home().map(|home| home.join("woven")),
            },
            runs: std::env::var_os(environment::RUNS.name).unwrap_or_default(),
            jobs,
            opt: line.opt.or_else(|| level::parse(&opt)),
            shared: line.output_kind != Output::Executable,
            probes: line.output_kind != Output::Relocatable,
            function_sections: line.function_sections,
        })
    }
}

/// The number of worker processes. By default there is one for each processor.
fn jobs(value: String) -> Result<usize> {
    if value.is_empty() {
        return Ok(std::thread::available_parallelism().map_or(1, usize::from));
    }
    match environment::JOBS.parse(value.as_bytes()) {
        Ok(Number(jobs)) => Ok(jobs.get()),
        Err(InvalidNumber) => Err(Error::Jobs { value }),
    }
}

/// A variable of patterns, as text: the workers parse it again.
fn patterns(variable: &str) -> Result<String> {
    let patterns = text(variable)?;
    Pattern::parse_lines(&patterns).map_err(|reason| Error::Patterns {
        variable: variable.to_owned(),
        reason: reason.into(),
    })?;
    Ok(patterns)
}

fn text(variable: &str) -> Result<String> {
    match std::env::var(variable) {
        Ok(value) => Ok(value),
        Err(std::env::VarError::NotPresent) => Ok(String::new()),
        Err(std::env::VarError::NotUnicode(_)) => Err(Error::NotUtf8 {
            variable: variable.to_owned(),
        }),
    }
}
