//! The run that a command reports: the run that the user names, or the latest run around the
//! current directory.

use std::path::{Path, PathBuf};

use holloway_collect::run_directory::{DATA, DEFAULT_RUNS, LATEST, RUNS, latest_in, start_time};

use crate::failure::{Context, Failure, Result};
use crate::{project, status};

/// The run to report if the user names none: `$HOLLOWAY_DATA`, else the newer of two runs:
///
/// - `latest` in cargo's target directory;
/// - `latest` in the nearest `target` at or above the current directory.
///
/// # Errors
/// There is no run.
pub(crate) fn latest() -> Result<PathBuf> {
    if let Some(data) = std::env::var_os(DATA).filter(|value| !value.is_empty()) {
        return Ok(PathBuf::from(data));
    }
    let here = std::env::current_dir().cannot(|| "find the current directory".to_owned())?;
    let mut candidates = candidates(&here);
    // Names begin with the time. Of two equal times, the sort keeps cargo's run first.
    candidates.sort_by_key(|run| std::cmp::Reverse(start_time(run)));
    let Some((newest, others)) = candidates.split_first() else {
        return Err(Failure::new(format_args!(
            "cannot find a run: no {DEFAULT_RUNS}/{LATEST} here or above {}, nor in cargo's target directory; name a run's directory, or record one with `cargo holloway run` or `holloway run -- ./app`",
            here.display()
        )));
    };
    if let Some(other) = others.first() {
        status::note(&format!(
            "this is {}, the newest run; another place has {}",
            newest.display(),
            other.display()
        ));
    }
    Ok(newest.clone())
}

/// The run that a user names: a path, or `latest`.
///
/// # Errors
/// There is no latest run.
pub(crate) fn named(run: &Path) -> Result<PathBuf> {
    if run == Path::new(LATEST) {
        return latest();
    }
    Ok(run.to_owned())
}

/// `latest` of cargo's target directory and of the nearest `target`.
fn candidates(here: &Path) -> Vec<PathBuf> {
    let mut around = here
        .ancestors()
        .filter_map(|directory| latest_in(&directory.join(DEFAULT_RUNS)));
    let (nearest, farther) = (around.next(), around.next());
    let home = |target: PathBuf| latest_in(&target.join(project::HOME).join(RUNS));
    // If there is only one `target`, it is the workspace's: cargo need not be asked.
    let chosen = project::configured_target(here)
        .or_else(|| farther.and_then(|_| project::workspace_target(here)))
        .and_then(home);
    let mut candidates: Vec<PathBuf> = chosen.into_iter().chain(nearest).collect();
    candidates.dedup_by_key(|run| run.canonicalize().ok());
    candidates
}
