//! The collector: takes the streams of paths (loops, trace, variation, times) out of the rings of the programs of a run, while they run.
//!
//! - `watch`: one thread looks for profiles as they appear in the run's directory, and for rings in them;
//! - `pool`: workers, one a processor, each with one ring at a time, feed what they take to the analysis;
//! - `subject`: what is made of the streams of one image in one process, and its result beside (then in place of) its profile;
//! - `stream`: one ring's words on their way there, samples; `making`, `forests`, `traces`, `timings`: what is made of them; `tally`: what is missing;
//! - `memory`: how much of it each stream may take;
//!
//! A profile that nobody collected, or not to its end, goes the same way when the run is finished or read: `Subject::absorb`.
//!
//! Nothing of this runs for other kinds of profile but a look into the directory now and then.

pub(crate) mod forests;
mod making;
mod memory;
mod pool;
mod stream;
mod subject;
mod tally;
pub(crate) mod timings;
pub(crate) mod traces;
mod watch;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use holloway_abi::COLLECTOR_VARIABLE;

use crate::args::StreamArgs;
use crate::burst::Burst;
use crate::child;
use crate::failure::Result;

pub(crate) use memory::Memory;
pub(crate) use pool::Collector;
pub(crate) use subject::{Made, Results, Subject, hold};

/// How streams are taken in.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// Iterations, in place of the image's.
    pub(crate) k: Option<u32>,
    /// One chunk in so many is analysed.
    pub(crate) sample: u64,
    /// What the run's streams share.
    pub(crate) memory: Memory,
    /// How often paths are timed, in place of what the environment says.
    pub(crate) burst: Option<Burst>,
    /// Path maps that links left, by build id.
    pub(crate) linked: Option<PathBuf>,
}

impl Default for Settings {
    fn default() -> Self {
        Self::new(&StreamArgs::default(), None)
    }
}

impl Settings {
    /// As the options say.
    pub(crate) fn new(args: &StreamArgs, linked: Option<&Path>) -> Self {
        Self {
            k: args.k,
            sample: args.sample.unwrap_or(1),
            memory: Memory::new(args.memory),
            burst: args.burst,
            linked: linked.map(Path::to_owned),
        }
    }
}

/// Runs `command`, which records into `directory` (named just so in `HOLLOWAY_DATA`), to its end, and takes in its streams meanwhile. Its start may fail in ways the
/// caller words. The collector goes on for processes that outlive the program, until it is dropped.
pub(crate) fn run(
    command: &mut Command,
    directory: &Path,
    settings: Settings,
) -> std::io::Result<Result<(ExitStatus, Collector)>> {
    command.envs(settings.burst.map(Burst::variable));
    let collector = Collector::start(directory, settings)?;
    let mut variable = OsString::from(format!("{} ", std::process::id()));
    variable.push(directory);
    command.env(COLLECTOR_VARIABLE, variable);
    let status = child::run(command)?;
    Ok(status.map(|status| {
        collector.settle();
        (status, collector)
    }))
}
