//! What the link step is told through the environment (set by `cargo holloway` and `holloway cc`, or by the user).
//!
//! | variable | meaning |
//! |---|---|
//! | `HOLLOWAY_COLLECT` | kind of profile, `paths` by default; `loops=K` with its iterations |
//! | `HOLLOWAY_EXITS` | `on`, `off`: frames that are left early count |
//! | `HOLLOWAY_GUIDE` | earlier run that guides the placing of probes |
//! | `HOLLOWAY_STD` | 1: std's embedded bitcode too |
//! | `HOLLOWAY_ONLY`, `HOLLOWAY_SKIP` | patterns, one a line |
//! | `HOLLOWAY_LLVM`, `HOLLOWAY_SYSROOT` | libLLVM, or the toolchain it comes with |
//! | `HOLLOWAY_CACHE` | directory of woven modules; empty: none |
//! | `HOLLOWAY_RUNS` | directory of runs, written into the image |
//! | `HOLLOWAY_JOBS` | worker processes at a time, at most; fewer where a jobserver says so |
//! | `HOLLOWAY_OPT` | optimisation level of the link (`holloway cc` passes its `-O` on) |

use std::ffi::OsString;
use std::path::PathBuf;

use holloway_abi::Kind;
use holloway_weave::{OptLevel, Pattern};

use super::line::{Line, Output};
use super::tools::cache_home;
use crate::failure::{Failure, Result};
use crate::wanted::Wanted;

/// Settings of one link.
#[derive(Debug)]
pub(crate) struct Settings {
    /// Kind of profile.
    pub(crate) collect: Kind,
    /// Iterations that loops are seen over: only in the image, so that another needs no module woven again.
    pub(crate) k: u32,
    /// Frames that are left early count.
    pub(crate) exits: bool,
    /// What guides the placing of probes.
    pub(crate) guide: Option<PathBuf>,
    /// Std's embedded bitcode counts.
    pub(crate) std: bool,
    /// Patterns, one a line.
    pub(crate) only: String,
    /// Patterns, one a line.
    pub(crate) skip: String,
    /// Where woven modules are kept.
    pub(crate) cache: Option<PathBuf>,
    /// Default directory of runs.
    pub(crate) runs: OsString,
    /// Worker processes at a time, at least 1.
    pub(crate) jobs: usize,
    /// Level of all modules; each module's own otherwise.
    pub(crate) opt: Option<OptLevel>,
    /// Code for a shared object (or for one not known yet: `-r`).
    pub(crate) shared: bool,
    /// Probes are put in.
    pub(crate) probes: bool,
    /// Each function in a section of its own.
    pub(crate) function_sections: bool,
}

impl Settings {
    /// Settings of `line`: what is `wanted`, all else from this process's environment.
    ///
    /// # Errors
    /// When a variable makes no sense.
    pub(crate) fn new(line: &Line, wanted: Wanted) -> Result<Self> {
        let wanted = wanted.or_environment()?;
        let jobs = text("HOLLOWAY_JOBS")?;
        let jobs = match jobs.as_str() {
            "" => std::thread::available_parallelism().map_or(1, usize::from),
            number => number
                .parse()
                .ok()
                .filter(|&jobs| jobs > 0)
                .ok_or_else(|| {
                    Failure::usage(format_args!(
                        "HOLLOWAY_JOBS={number}: give a number of processes, 1 or more"
                    ))
                })?,
        };
        let opt = text("HOLLOWAY_OPT")?;
        Ok(Self {
            collect: wanted.kind(),
            k: wanted.collection().k,
            exits: wanted.counts_exits(),
            guide: wanted.guide,
            std: matches!(text("HOLLOWAY_STD")?.as_str(), "1" | "true" | "yes"),
            only: patterns("HOLLOWAY_ONLY")?,
            skip: patterns("HOLLOWAY_SKIP")?,
            cache: match std::env::var_os("HOLLOWAY_CACHE") {
                Some(dir) => (!dir.is_empty()).then(|| dir.into()),
                None => cache_home().map(|home| home.join("woven")),
            },
            runs: std::env::var_os("HOLLOWAY_RUNS").unwrap_or_default(),
            jobs,
            opt: line.opt.or_else(|| level(&opt)),
            shared: line.makes != Output::Executable,
            probes: line.makes != Output::Relocatable,
            function_sections: line.function_sections,
        })
    }
}

/// `O2` and the like; `holloway cc` knows no other spelling.
pub(crate) fn level(text: &str) -> Option<OptLevel> {
    Some(match text {
        "O0" => OptLevel::O0,
        "O1" => OptLevel::O1,
        "O2" => OptLevel::O2,
        "O3" => OptLevel::O3,
        "Os" => OptLevel::Os,
        "Oz" => OptLevel::Oz,
        _ => return None,
    })
}

/// The inverse of [`level`].
pub(crate) fn level_name(level: OptLevel) -> &'static str {
    match level {
        OptLevel::O0 => "O0",
        OptLevel::O1 => "O1",
        OptLevel::O2 => "O2",
        OptLevel::O3 => "O3",
        OptLevel::Os => "Os",
        OptLevel::Oz => "Oz",
    }
}

/// A variable of patterns, as it is: the workers read it again.
fn patterns(name: &str) -> Result<String> {
    let patterns = text(name)?;
    Pattern::parse_lines(&patterns).map_err(|why| Failure::usage(format_args!("{name}: {why}")))?;
    Ok(patterns)
}

fn text(name: &str) -> Result<String> {
    match std::env::var(name) {
        Ok(value) => Ok(value),
        Err(std::env::VarError::NotPresent) => Ok(String::new()),
        Err(std::env::VarError::NotUnicode(_)) => {
            Err(Failure::usage(format_args!("{name} is not UTF-8")))
        }
    }
}
