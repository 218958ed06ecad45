//! The run that a command reports: the run that the user names, or the latest run around the
//! current directory, or the user's latest run.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};

use holloway_collect::run_directory::{DATA, DEFAULT_RUNS, LATEST, RUNS, latest_in, start_time};
use holloway_collect::state_runs::{builds_around, newest_of_all, newest_run, state_runs};

use crate::failure::{Context, Failure, Result};
use crate::{project, status};

/// The run to report if the user names none: `$HOLLOWAY_DATA` if it is set, else the newest of
/// three runs:
///
/// - `latest` in cargo's target directory;
/// - `latest` in the nearest `target` at or above the current directory;
/// - the newest run, in the user's state directory, of a program at, below, or above the current
///   directory.
///
/// If there is none of them, it is the newest run in the user's state directory, for example that
/// of an installed program.
///
/// # Errors
/// If there is no run.
pub(crate) fn latest() -> Result<PathBuf> {
    if let Some(data) = std::env::var_os(DATA).filter(|value| !value.is_empty()) {
        return Ok(PathBuf::from(data));
    }
    let current_dir = std::env::current_dir().cannot(|| "find the current directory".to_owned())?;
    let mut candidates = candidates(&current_dir);
    // If two runs started at the same time, the stable sort keeps cargo's run first.
    candidates.sort_by_key(|run| std::cmp::Reverse(start_time(run)));
    let Some((newest, others)) = candidates.split_first() else {
        if let Some(run) = state_runs().and_then(|runs| newest_of_all(&runs)) {
            status::note(&format!(
                "no program in or below {} has a run; this is your newest run, {}",
                current_dir.display(),
                run.display()
            ));
            return Ok(run);
        }
        return Err(Failure::new(format_args!(
            "cannot find a run: no {DEFAULT_RUNS}/{LATEST} here or above {}, nor in cargo's target directory, nor in your state directory; name a run's directory, or record one with `cargo holloway run` or `holloway run -- ./app`",
            current_dir.display()
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
/// If there is no latest run.
pub(crate) fn resolve(run: &Path) -> Result<PathBuf> {
    if run == Path::new(LATEST) {
        return latest();
    }
    Ok(run.to_owned())
}

/// The runs that a user names, without repetitions: `runs/*` has the latest run twice, because
/// `latest` is a link to it. Prints a note on each repetition.
///
/// # Errors
/// If there is no latest run.
pub(crate) fn distinct(runs: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut seen: HashMap<PathBuf, PathBuf> = HashMap::new();
    let mut distinct = Vec::new();
    for named in runs {
        let run = resolve(named)?;
        let place = run.canonicalize().unwrap_or_else(|_| run.clone());
        match seen.entry(place) {
            Entry::Occupied(first) => status::note(&format!(
                "{} is {}, and counts once",
                named.display(),
                first.get().display()
            )),
            Entry::Vacant(entry) => {
                entry.insert(named.clone());
                distinct.push(run);
            }
        }
    }
    Ok(distinct)
}

/// The latest run in the project's target directory, the latest run in the nearest `target`, and
/// the newest run of a program around the current directory in the user's state directory.
fn candidates(current_dir: &Path) -> Vec<PathBuf> {
    let mut runs_above = current_dir
        .ancestors()
        .filter_map(|directory| latest_in(&directory.join(DEFAULT_RUNS)));
    let (nearest, farther) = (runs_above.next(), runs_above.next());
    let latest_below =
        |target: PathBuf| latest_in(&target.join(project::HOLLOWAY_DIRECTORY).join(RUNS));
    // If there is only one `target` above, it belongs to the workspace, so cargo need not be asked.
    let of_project = project::configured_target(current_dir)
        .or_else(|| farther.and_then(|_| project::workspace_target(current_dir)))
        .and_then(latest_below);
    let of_program = state_runs().and_then(|runs| newest_run(builds_around(&runs, current_dir)));
    let places = [of_project, nearest, of_program];
    let mut candidates: Vec<PathBuf> = places.into_iter().flatten().collect();
    candidates.dedup_by_key(|run| run.canonicalize().ok());
    candidates
}
