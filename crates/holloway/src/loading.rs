//! Loads and finishes runs for commands, and prints warnings and progress messages.

use std::path::Path;

use holloway_abi::Unit;
use holloway_analysis::RunProfile;
use holloway_analysis::branch_profile;
use holloway_analysis::estimate::estimate;
use holloway_collect::Collector;
use holloway_collect::finish::FinishSummary;
use holloway_collect::load::{self, Loaded, Untaken};
use holloway_collect::samples;
use holloway_collect::settings::{MapDirectories, Settings};
use holloway_report::notes::sentence;
use holloway_report::{grouped, plural};

use crate::failure::Result;
use crate::progress::Progress;
use crate::{shell, status};

/// Holloway announces the analysis of this many words or more. Their analysis takes a second or
/// two.
const ANNOUNCED_WORDS: u64 = 10_000_000;

/// Reads `run`: a run's directory, or one `.hwp` file.
///
/// # Errors
/// If the run does not exist, or no part of it can be read.
pub(crate) fn load(run: &Path) -> Result<RunProfile> {
    load_with_streams(run).map(|loaded| loaded.profile)
}

/// Warns if the counts of a run are estimates, for commands whose output does not say so.
pub(crate) fn warn_of_estimates(run: &RunProfile) {
    for note in run.damage.iter().filter(|note| note.sample().is_some()) {
        status::warn(&sentence(note));
    }
}

/// Reads `run`. If it has samples and no counts, takes the paths or the edges from branch records,
/// or estimates the counts.
///
/// # Errors
/// If the run does not exist, or no part of it can be read.
pub(crate) fn load_or_estimate(run: &Path, unit: Unit) -> Result<RunProfile> {
    match has_samples(run) {
        true => load_samples(run, unit),
        false => load(run),
    }
}

/// Reads the samples of `run`: the paths or the edges in branch records, or else estimated counts.
///
/// # Errors
/// If the run does not exist, or no part of it can be read.
pub(crate) fn load_samples(run: &Path, unit: Unit) -> Result<RunProfile> {
    let sampled = samples::load(run)?;
    let records = sampled.records.as_ref();
    Ok(
        match (records.filter(|records| records.has_branches()), unit) {
            (Some(records), Unit::Paths) if records.has_paths() => branch_profile::paths(records),
            (Some(records), Unit::Paths | Unit::Edges) => branch_profile::edges(records),
            (None, _) => estimate(&sampled),
        },
    )
}

/// Whether a monitor watched the run, and nothing was counted.
pub(crate) fn has_samples(run: &Path) -> bool {
    let has_profiles = || !load::profile_files(run).is_ok_and(|files| files.is_empty());
    !samples::sample_files(run).is_empty() && (run.is_file() || !has_profiles())
}

/// Reads `run` with its analyzed streams.
///
/// # Errors
/// If the run does not exist, or no part of it can be read.
pub(crate) fn load_with_streams(run: &Path) -> Result<Loaded> {
    announce(run);
    let _progress = loading(run);
    Ok(load::load_with_streams(run, &Settings::default())?)
}

/// Reads several runs as one.
///
/// # Errors
/// If a run does not exist, or no part of any can be read.
pub(crate) fn load_merged(runs: &[&Path]) -> Result<Loaded> {
    runs.iter().for_each(|run| announce(run));
    let _progress = runs.first().map(|run| loading(run));
    Ok(load::load_merged(runs, &Settings::default())?)
}

/// Reads `run` for a command that looks for damage. If no part can be read, the result contains
/// no image.
///
/// # Errors
/// If the run does not exist, or is an empty directory.
pub(crate) fn load_readable(run: &Path) -> Result<Loaded> {
    announce(run);
    let _progress = loading(run);
    Ok(load::load_readable(run, &Settings::default())?)
}

/// The progress of loading a run.
fn loading(run: &Path) -> Progress {
    Progress::start("Loading", &status::shown(run).to_string())
}

/// Lets the collector of a program that has ended catch up with the program's streams.
pub(crate) fn catch_up(collector: &Collector) {
    let _progress = Progress::start("Collecting", "the last events of the program");
    collector.drain();
}

/// Finishes a run's directory, and warns if a file could not be written.
///
/// # Errors
/// If the directory cannot be read.
pub(crate) fn finish(directory: &Path, maps: &MapDirectories) -> Result<FinishSummary> {
    let mut progress = Progress::start("Finishing", &status::shown(directory).to_string());
    let summary = holloway_collect::finish::finish(directory, maps)?;
    progress.end();
    if let Some(error) = &summary.write_error {
        status::warn(&format!(
            "{error}: the run stays unfinished; make room, and `holloway report` reads it as long as the program is there"
        ));
    }
    Ok(summary)
}

/// If the run's streams must be analyzed first and this takes a while, prints a message, which says
/// how to avoid the wait next time.
fn announce(run: &Path) {
    let Some(untaken) = load::untaken(run).filter(|untaken| untaken.words >= ANNOUNCED_WORDS)
    else {
        return;
    };
    let Untaken {
        head,
        profiles,
        words,
        has_ended,
    } = untaken;
    let source = match profiles {
        1 => format!("{}, process {},", head.image, head.pid),
        _ => plural(profiles, "profile"),
    };
    let directory = match run.is_dir() {
        true => run,
        false => run.parent().unwrap_or(run),
    };
    let directory = match directory.as_os_str().is_empty() {
        true => ".".to_owned(),
        false => shell::word(&directory.to_string_lossy()),
    };
    let advice = match has_ended {
        true => format!(
            "; each question does so: `HOLLOWAY_DATA={directory} holloway run --no-report -- true` does it once for all"
        ),
        false => String::new(),
    };
    let words = grouped(words);
    status::line(
        "Analysing",
        &format!("{words} words of {source} that no collector took{advice}"),
    );
}
