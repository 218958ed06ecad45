//! `--guide RUN`: turns the counts of an earlier run into a guide for the weaver
//! (`holloway_format::guide`).
//!
//! A guide holds, for every function that ran, the counts of all edges except exit edges. The run
//! may have counted edges or paths, or a monitor sampled it. The weaver uses the counts as weights
//! of the spanning tree, for the order in which paths are numbered, and to choose where paths are
//! cut. A guide changes costs, never counts. So a guide from an unrepresentative run does no harm
//! to counts.
//!
//! `cargo holloway` makes the guide once for all links of a build ([`write_for_build`]). Any other
//! link makes a guide for itself ([`read`]). Cost: a few hundredths of a second for a run as large
//! as ripgrep's.

use std::path::{Path, PathBuf};

use holloway_abi::Unit;
use holloway_analysis::{CountBasis, RunProfile};
use holloway_collect::files::{read_regular, write_atomically};
use holloway_collect::load::profile_files;
use holloway_collect::run_directory::LATEST;
use holloway_format::guide::GUIDE_MAGIC;
use holloway_format::{Count, Guide, GuideFunction};
use holloway_link::guide::hash;
use holloway_link::records::record_warning;
use holloway_report::notes::sentence;
use holloway_report::plural;

use crate::failure::{Context, Failure, Result};
use crate::{latest, loading, status};

/// The file in holloway's build directory with the guide of the last build.
const GUIDE_FILE: &str = ".holloway-guide";

/// Checks only that the file or directory that `--guide` names exists. Compilations call this,
/// because they do not read the guide.
///
/// # Errors
/// If no run, profile, or guide has this name.
pub(crate) fn check(argument: &Path) -> Result<()> {
    if argument == Path::new(LATEST) {
        return Ok(());
    }
    profile_files(argument)
        .map(drop)
        .map_err(|failure| unusable(argument, failure))
}

/// Checks that the guide can be read. Gives no warnings of damage, because the link that reads the
/// guide gives them.
///
/// # Errors
/// If the guide cannot be read; see [`read`].
pub(crate) fn check_readable(argument: &Path) -> Result<()> {
    open(argument).map(drop)
}

/// Reads the guide that `--guide` names: a run's directory, one profile, `latest`, or a file that
/// [`write_for_build`] wrote.
///
/// # Errors
/// If no run has this name, or no part of it can be read. Damage of a part is only a warning.
pub(crate) fn read(argument: &Path) -> Result<Guide> {
    let (run, profile) = match open(argument)? {
        Source::File(guide) => return Ok(guide),
        Source::Run(run, profile) => (run, profile),
    };
    if let [first, others @ ..] = profile.damage.as_slice() {
        let other_count = match others.len() {
            0 => String::new(),
            count => format!("; and {count} more"),
        };
        let warning = format!(
            "the guide {} is damaged, the rest of it is used: {}{other_count}",
            run.display(),
            sentence(first)
        );
        status::warn(&warning);
        record_warning(&warning);
    }
    match profile.basis {
        CountBasis::Counts => {}
        CountBasis::Time { samples } => status::note(&format!(
            "the guide {} is time-based: its counts are estimated from {}",
            run.display(),
            plural(samples, "sample")
        )),
        CountBasis::Branches { branches, .. } => status::note(&format!(
            "the guide {} is sampled: its counts come from records of {}",
            run.display(),
            plural(branches, "branch")
        )),
    }
    Ok(guide_of(&profile))
}

/// The file or run that `--guide` names.
enum Source {
    /// A file that [`write_for_build`] wrote.
    File(Guide),
    /// A run: its location and its profile.
    Run(PathBuf, Box<RunProfile>),
}

fn open(argument: &Path) -> Result<Source> {
    let is_file = std::fs::metadata(argument).is_ok_and(|metadata| metadata.is_file());
    if is_file
        && let Ok(bytes) = read_regular(argument)
        && bytes.starts_with(&GUIDE_MAGIC)
    {
        return Guide::decode(&bytes)
            .map(Source::File)
            .map_err(|error| unusable(argument, error));
    }
    let run = latest::resolve(argument)?;
    std::fs::metadata(&run)
        .map_err(|error| unusable(&run, format_args!("{error}; name a run's directory")))?;
    let profile =
        loading::load_or_estimate(&run, Unit::Edges).map_err(|failure| unusable(&run, failure))?;
    Ok(Source::Run(run, Box::new(profile)))
}

/// Reads the guide that `--guide` names and writes it into `home`, for the links of a build.
/// Returns the path and the hash of the guide.
///
/// # Errors
/// If [`read`] fails, or the guide cannot be written.
pub(crate) fn write_for_build(argument: &Path, home: &Path) -> Result<(PathBuf, String)> {
    let bytes = read(argument)?.encode();
    let file = home.join(GUIDE_FILE);
    // Before the first build, the directory does not exist.
    std::fs::create_dir_all(home).cannot(|| format!("create {}", home.display()))?;
    write_atomically(&file, &bytes)?;
    Ok((file, hash(&bytes)))
}

/// Makes a guide of the counts of all functions that ran.
fn guide_of(run: &RunProfile) -> Guide {
    let functions = run.functions.iter().filter(|function| function.ran());
    functions
        .map(|function| {
            let counts = function.map.edges.iter().zip(&function.flow().edges);
            let guided = counts.filter(|(edge, _)| edge.is_always_there());
            GuideFunction {
                linkage_name: function.map.linkage_name.clone(),
                graph_hash: function.map.graph_hash(),
                edges: guided
                    .map(|(_, &count)| Count(u64::try_from(count).unwrap_or(0)))
                    .collect(),
            }
        })
        .collect()
}

fn unusable(argument: &Path, reason: impl std::fmt::Display) -> Failure {
    Failure::new(format_args!(
        "cannot take {} for a guide: {reason}",
        argument.display()
    ))
}
