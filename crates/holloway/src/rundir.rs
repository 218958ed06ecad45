//! Run directories: where they are, how they are named, which is the latest.
//!
//! ```text
//! <target directory>/holloway/runs/
//!     20260102-030405-app/        a run: UTC time it began, what was run
//!         4711-app.hwp            a profile: one for each process and image
//!         4711-app.hwl, .hwt      what its streams came to, where loops or a trace were collected
//!         <build id>.hwm          the path map of each image met
//!     latest -> 20260102-030405-app
//! ```
//! A run's directory is never reused and never deleted here.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::failure::{Context, Failure, Result};
use crate::{project, status};

/// Directory of runs below holloway's own.
pub(crate) const RUNS: &str = "runs";
/// Symlink to the latest run, beside the runs.
pub(crate) const LATEST: &str = "latest";
/// Where programs put runs when nothing else is said, below the current directory.
pub(crate) const DEFAULT_RUNS: &str = "target/holloway/runs";
/// Environment variable that names the run's directory itself.
pub(crate) const DATA: &str = "HOLLOWAY_DATA";

/// Makes the directory of a new run: `-o` if given, else `$HOLLOWAY_DATA`, else a new one in `runs`.
///
/// # Errors
/// `-o` names something that is there and not empty, or the directory cannot be made or written.
pub(crate) fn create(output: Option<&Path>, runs: &Path, name: &str) -> Result<PathBuf> {
    let directory = match output {
        Some(output) => create_named(output)?,
        None => match std::env::var_os(DATA).filter(|value| !value.is_empty()) {
            Some(data) => create_shared(Path::new(&data))?,
            None => create_in(runs, name)?,
        },
    };
    check_writable(&directory)?;
    crate::project::absolute(&directory)
}

/// `-o RUN`: new or empty.
fn create_named(output: &Path) -> Result<PathBuf> {
    let shown = output.display();
    match std::fs::read_dir(output) {
        Ok(mut entries) => match entries.next() {
            None => Ok(output.to_owned()),
            Some(_) => Err(Failure::new(format_args!(
                "cannot record into {shown}: it is not empty, and an earlier run is never overwritten; choose another directory or delete it"
            ))),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            std::fs::create_dir_all(output)
                .cannot(|| format!("create the run's directory {shown}"))?;
            Ok(output.to_owned())
        }
        Err(error) => Err(Failure::new(format_args!(
            "cannot record into {shown}: {error}; choose another directory"
        ))),
    }
}

/// `$HOLLOWAY_DATA`: several programs may share it.
fn create_shared(data: &Path) -> Result<PathBuf> {
    std::fs::create_dir_all(data)
        .cannot(|| format!("create the run's directory {} ({DATA})", data.display()))?;
    Ok(data.to_owned())
}

/// A directory of its own for a run that begins now; a second one in the same second gets a number.
///
/// # Errors
/// It cannot be made.
pub(crate) fn create_in(runs: &Path, name: &str) -> Result<PathBuf> {
    let stem = format!("{}-{}", timestamp(SystemTime::now()), file_name(name));
    let made = std::fs::create_dir_all(runs).map_err(|error| named_elsewhere(error.kind()));
    made.cannot(|| format!("create the directory of runs {}", runs.display()))?;
    for attempt in 1.. {
        let directory = match attempt {
            1 => runs.join(&stem),
            _ => runs.join(format!("{stem}-{attempt}")),
        };
        match std::fs::create_dir(&directory) {
            Ok(()) => {
                point_latest(runs, &directory);
                return Ok(directory);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                return Err(Failure::new(format_args!(
                    "cannot create the run's directory {}: {error}; name another with -o",
                    directory.display()
                )));
            }
        }
    }
    unreachable!("the loop above ends by returning")
}

/// A reason, and the way out.
fn named_elsewhere(kind: io::ErrorKind) -> String {
    format!("{kind}; name another directory with -o or {DATA}")
}

/// Tries what the program will do, so that an unwritable place is said before a long run and not after it.
fn check_writable(directory: &Path) -> Result<()> {
    tempfile::Builder::new()
        .prefix(".holloway-")
        .tempfile_in(directory)
        .map(drop)
        .map_err(|error| named_elsewhere(error.kind()))
        .cannot(|| format!("write into the run's directory {}", directory.display()))
}

/// Removes a run's directory if nothing was recorded into it, and lets `latest` point to the run before.
pub(crate) fn discard_if_empty(directory: &Path) {
    // remove_dir refuses a directory that holds anything.
    if std::fs::remove_dir(directory).is_err() {
        return;
    }
    let Some(runs) = directory.parent() else {
        return;
    };
    let link = runs.join(LATEST);
    let pointed_here = std::fs::read_link(&link).is_ok_and(|to| runs.join(to) == directory);
    if !pointed_here || std::fs::remove_file(&link).is_err() {
        return;
    }
    let before = std::fs::read_dir(runs).into_iter().flatten().flatten();
    match before
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .max()
    {
        Some(previous) => point_latest(runs, &previous),
        // The first run ever leaves no empty `target/holloway/runs` behind.
        None => drop(runs.ancestors().take(3).try_for_each(std::fs::remove_dir)),
    }
}

/// Points `latest` at a run. A file system without symlinks goes without.
fn point_latest(runs: &Path, directory: &Path) {
    let Some(name) = directory.file_name() else {
        return;
    };
    let temporary = runs.join(format!(".latest-{}", std::process::id()));
    if std::os::unix::fs::symlink(name, &temporary).is_ok()
        && std::fs::rename(&temporary, runs.join(LATEST)).is_err()
    {
        std::fs::remove_file(&temporary).ok();
    }
}

/// The run to report when none is named: `$HOLLOWAY_DATA`, else the newest among the `latest` of cargo's target directory
/// and that of the nearest `target` at or above the current directory.
///
/// # Errors
/// There is none.
pub(crate) fn latest() -> Result<PathBuf> {
    if let Some(data) = std::env::var_os(DATA).filter(|value| !value.is_empty()) {
        return Ok(PathBuf::from(data));
    }
    let here = std::env::current_dir().cannot(|| "find the current directory".to_owned())?;
    let mut candidates = candidates(&here);
    // The name begins with the time; of equal ones the first, cargo's.
    candidates.sort_by_key(|run| std::cmp::Reverse(time_of(run)));
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
    // Where there is one `target` only, cargo need not be asked which is the workspace's.
    let chosen = project::configured_target(here)
        .or_else(|| farther.and_then(|_| project::workspace_target(here)))
        .and_then(home);
    let mut candidates: Vec<PathBuf> = chosen.into_iter().chain(nearest).collect();
    candidates.dedup_by_key(|run| run.canonicalize().ok());
    candidates
}

/// `YYYYMMDD-HHMMSS` of a run's name.
fn time_of(run: &Path) -> Vec<u8> {
    let name = run.file_name().unwrap_or_default().as_encoded_bytes();
    name.iter().copied().take(15).collect()
}

/// `latest` among `runs`, followed.
fn latest_in(runs: &Path) -> Option<PathBuf> {
    let link = runs.join(LATEST);
    match std::fs::read_link(&link) {
        Ok(to) => Some(runs.join(to)).filter(|run| run.is_dir()),
        Err(_) => link.is_dir().then_some(link),
    }
}

/// Writes a file so that it is there whole or not at all, with the rights any new file gets.
///
/// # Errors
/// The directory cannot be written.
pub(crate) fn write_atomically(path: &Path, bytes: &[u8]) -> Result<()> {
    use std::io::Write as _;
    use std::os::unix::fs::PermissionsExt as _;
    let directory = path.parent().unwrap_or(Path::new("."));
    let write = || -> io::Result<()> {
        let mut file = tempfile::Builder::new()
            .prefix(".holloway-")
            // As a file of `creat`: the umask trims it.
            .permissions(std::fs::Permissions::from_mode(0o666))
            .tempfile_in(directory)?;
        file.write_all(bytes)?;
        file.persist(path)?;
        Ok(())
    };
    // The name of the temporary file says nothing to anyone.
    let written = write().map_err(|error| error.kind());
    written.cannot(|| format!("write {}", path.display()))
}

/// `name` as part of a file name: anything unusual becomes `_`.
fn file_name(name: &str) -> String {
    let plain = |c: char| {
        if c.is_alphanumeric() || "._+-".contains(c) {
            c
        } else {
            '_'
        }
    };
    let name: String = name.chars().map(plain).take(60).collect();
    if name.is_empty() {
        "program".to_owned()
    } else {
        name
    }
}

/// `YYYYMMDD-HHMMSS` in UTC.
fn timestamp(time: SystemTime) -> String {
    let seconds = time
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    let (year, month, day) = civil(seconds / 86_400);
    let second = seconds % 86_400;
    format!(
        "{year:04}{month:02}{day:02}-{:02}{:02}{:02}",
        second / 3600,
        second / 60 % 60,
        second % 60
    )
}

/// Days since 1970-01-01 as (year, month, day) of the Gregorian calendar (H. Hinnant, `civil_from_days`).
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use std::time::Duration;

    #[test]
    fn timestamps_are_utc() {
        let at = |seconds| timestamp(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "19700101-000000");
        assert_eq!(at(951_782_399), "20000228-235959");
        assert_eq!(at(951_782_400), "20000229-000000");
        assert_eq!(at(1_767_323_045), "20260102-030405");
    }

    #[test]
    fn two_runs_in_one_second_get_two_directories_and_latest_is_the_last() {
        let runs = tempfile::tempdir().unwrap();
        let first = create_in(runs.path(), "a/b").unwrap();
        let second = create_in(runs.path(), "a/b").unwrap();
        assert_ne!(first, second);
        assert_eq!(latest_in(runs.path()).unwrap(), second);
        discard_if_empty(&second);
        assert_eq!(latest_in(runs.path()).unwrap(), first);
    }

    #[test]
    fn a_directory_with_something_in_it_is_refused() {
        let runs = tempfile::tempdir().unwrap();
        assert!(create_named(runs.path()).is_ok());
        std::fs::write(runs.path().join("kept"), "x").unwrap();
        let refusal = create_named(runs.path()).unwrap_err().message;
        assert!(
            refusal.contains("not empty") && refusal.contains("choose another"),
            "{refusal}"
        );
    }

    #[test]
    fn what_is_written_has_the_rights_of_any_new_file() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let (ours, plain) = (dir.path().join("ours"), dir.path().join("plain"));
        write_atomically(&ours, b"x").unwrap();
        std::fs::write(&plain, b"x").unwrap();
        let mode = |path| std::fs::metadata(path).map(|meta| meta.permissions().mode());
        assert_eq!(mode(&ours).ok(), mode(&plain).ok());
    }
}
