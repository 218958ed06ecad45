//! Reads the settings of a link step from environment variables. `cargo holloway`, `holloway cc`,
//! or the user sets the variables.
//!
//! | variable | meaning |
//! |---|---|
//! | `HOLLOWAY_COLLECT` | kind of profile, `paths` by default; `loops=K` follows K iterations |
//! | `HOLLOWAY_EXITS` | `on`, `off`: whether frames that are left in a call are counted |
//! | `HOLLOWAY_GRAPH` | `source`, `optimized`: whether the code before the optimizer is profiled |
//! | `HOLLOWAY_GUIDE` | an earlier run, whose counts decide where probes are placed |
//! | `HOLLOWAY_EMBED` | `1`: link a plain program that carries its unoptimized bitcode |
//! | `HOLLOWAY_STD` | `1`: weave the embedded bitcode of the standard library too |
//! | `HOLLOWAY_ONLY`, `HOLLOWAY_SKIP` | patterns of functions to weave, to skip; one per line |
//! | `HOLLOWAY_LLVM`, `HOLLOWAY_SYSROOT` | libLLVM, or the Rust toolchain that contains it |
//! | `HOLLOWAY_CACHE` | directory that stores woven modules for later links; empty: no cache |
//! | `HOLLOWAY_RUNS` | directory of runs, stored in the image |
//! | `HOLLOWAY_JOBS` | the maximum number of worker processes; a jobserver may allow fewer |
//! | `HOLLOWAY_OPT` | optimization level of the link (`holloway cc` sets it to its `-O` level) |

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use holloway_abi::Kind;
use holloway_abi::environment::{self, Flag, InvalidNumber, Number};
use holloway_weave::{OptLevel, Pattern};

use crate::collect_options::{CollectOptions, GraphStage, Switch};
use crate::error::{Error, Result};
use crate::level;
use crate::line::{Line, Output};
use crate::plan_parts::PlanFile;
use crate::tools::cache_home;

/// What a link makes of bitcode that no optimizer has seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EarlyLink {
    /// A plain program that carries its bitcode (`--embed`).
    Embed,
    /// A program that profiles the graph of its source (`--graph source`).
    Source,
    /// The plain program again, without its bitcode.
    Plain,
    /// A plain program whose debug locations are the numbers of instructions.
    Numbered,
    /// A program that counts what its source does.
    Training,
    /// The same, and its debug locations are the numbers of instructions.
    NumberedTraining,
    /// A program that records the sequences of paths in some functions: their patterns, one per
    /// line. Empty: in all functions.
    Sequences(String),
    /// A program that is optimized by a plan, and counts what its optimized code does.
    LateTraining(PlanFile),
    /// A program that is optimized by a plan, and times the paths of its optimized code in some
    /// functions: patterns as those of [`Self::Sequences`].
    Timing(PlanFile, String),
    /// A program that is optimized by a plan.
    Optimized(PlanFile),
}

impl EarlyLink {
    /// Whether the modules get counters, or use counts.
    pub(crate) fn has_counts(&self) -> bool {
        match self {
            Self::Embed | Self::Source | Self::Plain | Self::Numbered => false,
            Self::Training
            | Self::NumberedTraining
            | Self::Sequences(_)
            | Self::LateTraining(_)
            | Self::Timing(..)
            | Self::Optimized(_) => true,
        }
    }

    /// The plan by which the program is optimized.
    pub(crate) fn plan(&self) -> Option<&PlanFile> {
        match self {
            Self::LateTraining(plan) | Self::Timing(plan, _) | Self::Optimized(plan) => Some(plan),
            Self::Embed
            | Self::Source
            | Self::Plain
            | Self::Numbered
            | Self::Training
            | Self::NumberedTraining
            | Self::Sequences(_) => None,
        }
    }

    /// The patterns of the only functions that record, one per line. `None` if the purpose selects
    /// no functions; empty for all functions.
    pub(crate) fn selected(&self) -> Option<&str> {
        match self {
            Self::Sequences(patterns) | Self::Timing(_, patterns) => Some(patterns),
            Self::Embed
            | Self::Source
            | Self::Plain
            | Self::Numbered
            | Self::Training
            | Self::NumberedTraining
            | Self::LateTraining(_)
            | Self::Optimized(_) => None,
        }
    }
}

impl fmt::Display for EarlyLink {
    /// Writes what distinguishes the results for the same bitcode and plan.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Embed | Self::Plain => f.write_str("embed"),
            Self::Source => f.write_str("source"),
            Self::Numbered => f.write_str("numbered"),
            Self::NumberedTraining => f.write_str("numbered training"),
            // The kind and the patterns distinguish the results.
            Self::Training | Self::Sequences(_) => f.write_str("training"),
            Self::LateTraining(_) => f.write_str("late training"),
            Self::Timing(..) => f.write_str("timing"),
            Self::Optimized(_) => f.write_str("optimized"),
        }
    }
}

/// Settings of one link.
#[derive(Debug)]
pub(crate) struct LinkSettings {
    /// The kind of profile.
    pub(crate) collect: Kind,
    /// K of `--collect loops=K`: the number of consecutive iterations in a sequence. Only the image
    /// header holds K, so a different K does not require weaving modules again.
    pub(crate) k: u32,
    /// Whether frames that are left in a call are counted.
    pub(crate) exits: bool,
    /// The earlier run whose counts decide where probes are placed.
    pub(crate) guide: Option<PathBuf>,
    /// Whether the embedded bitcode of the standard library is woven too.
    pub(crate) std: bool,
    /// Patterns of the functions to weave, one per line.
    pub(crate) only: String,
    /// Patterns of the functions to skip, one per line.
    pub(crate) skip: String,
    /// The directory that stores woven modules for later links.
    pub(crate) cache: Option<PathBuf>,
    /// The default directory of runs.
    pub(crate) runs: OsString,
    /// The maximum number of worker processes, at least 1.
    pub(crate) jobs: usize,
    /// The optimization level of all modules. `None`: each module keeps its level.
    pub(crate) opt: Option<OptLevel>,
    /// Whether the code may become part of a shared object: the output is a shared object, or the
    /// final output is not known yet (`-r`).
    pub(crate) shared: bool,
    /// What is made of the modules, if no optimizer has seen their bitcode.
    pub(crate) early: Option<EarlyLink>,
    /// Whether modules get probes. `ld -r` adds none, because the final link weaves the modules.
    pub(crate) probes: bool,
    /// Whether each function gets a section, so that the linker can drop unused functions.
    pub(crate) function_sections: bool,
}

impl LinkSettings {
    /// Reads the settings for `line`. `options` override the environment variables.
    ///
    /// # Errors
    /// If a variable has a wrong value.
    pub(crate) fn new(line: &Line, options: CollectOptions) -> Result<Self> {
        let options = options.or_environment()?;
        let jobs = jobs(text(environment::JOBS.name)?)?;
        let Ok(std) = environment::STD.parse(text(environment::STD.name)?.as_bytes());
        let opt = text(environment::internal::OPT)?;
        Ok(Self {
            collect: options.kind(),
            k: options.collection().k,
            exits: options.counts_exits(),
            guide: options.guide.clone(),
            std: std == Flag::Set,
            only: patterns(environment::ONLY.name)?,
            skip: patterns(environment::SKIP.name)?,
            cache: match std::env::var_os(environment::CACHE.name) {
                Some(directory) => (!directory.is_empty()).then(|| directory.into()),
                None => cache_home().map(|home| home.join("woven")),
            },
            runs: runs()?,
            jobs,
            opt: line.opt.or_else(|| level::parse(&opt)),
            shared: line.output_kind != Output::Executable,
            probes: line.output_kind != Output::Relocatable && !options.embed,
            early: match (options.embed, options.graph()) {
                (true, _) => Some(EarlyLink::Embed),
                (false, GraphStage::Source) => Some(EarlyLink::Source),
                (false, GraphStage::Optimized) => None,
            },
            function_sections: line.function_sections,
        })
    }

    /// The settings for linking a program again from its recipe. Of the user's settings, those for
    /// the cache and the processes are used.
    ///
    /// # Errors
    /// If a variable has a wrong value.
    pub(crate) fn for_recipe(line: &Line, recipe_level: &str, early: EarlyLink) -> Result<Self> {
        let (kind, probes, only) = match &early {
            EarlyLink::Embed
            | EarlyLink::Source
            | EarlyLink::Plain
            | EarlyLink::Numbered
            | EarlyLink::Optimized(_) => (Kind::Edges, false, String::new()),
            EarlyLink::Training | EarlyLink::NumberedTraining | EarlyLink::LateTraining(_) => {
                (Kind::Edges, true, String::new())
            }
            EarlyLink::Timing(_, only) => (Kind::Variation, true, only.clone()),
            EarlyLink::Sequences(only) => (Kind::Loops, true, only.clone()),
        };
        let options = CollectOptions {
            collect: Some(kind.into()),
            // Times are those of paths that end, so they have no exit edges.
            exits: (kind != Kind::Variation).then_some(Switch::On),
            ..CollectOptions::default()
        };
        Ok(Self {
            std: false,
            only,
            skip: String::new(),
            guide: None,
            runs: OsString::new(),
            opt: line.opt.or_else(|| level::parse(recipe_level)),
            early: Some(early),
            probes,
            ..Self::new(line, options)?
        })
    }
}

/// The directory of runs that the user chose, as an absolute path without a slash at its end. Empty
/// if the user chose none.
fn runs() -> Result<OsString> {
    let Some(runs) = std::env::var_os(environment::RUNS.name).filter(|runs| !runs.is_empty())
    else {
        return Ok(OsString::new());
    };
    let absolute = std::path::absolute(&runs).map_err(Error::reading(Path::new(&runs)))?;
    Ok(absolute.components().as_path().into())
}

/// Parses the number of worker processes. The default is one per processor.
fn jobs(value: String) -> Result<usize> {
    if value.is_empty() {
        return Ok(std::thread::available_parallelism().map_or(1, usize::from));
    }
    match environment::JOBS.parse(value.as_bytes()) {
        Ok(Number(jobs)) => Ok(jobs.get()),
        Err(InvalidNumber) => Err(Error::Jobs { value }),
    }
}

/// Checks a variable of patterns, and returns it as text. The workers parse the text again.
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
