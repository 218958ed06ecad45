//! Creates run directories, and finds the latest one.
//!
//! ```text
//! <target directory>/holloway/runs/
//!     20260102-030405-app/        a run: the UTC time of its start, and the program
//!         4711-app.hwp            a profile: one for each process and image
//!         4711-app.hwl, .hwt      its side files: analyzed streams of loops or a trace
//!         4705.hwc                the CPU time, by the process id of holloway
//!         <build id>.hwm          the path map of each image
//!     latest -> 20260102-030405-app
//!     .maps/                      the path maps of all runs, which have hard links to them
//! ```
//! The runs of C and C++ programs that are started by hand are elsewhere (`state_runs`).
//! Existing runs are never overwritten or deleted here.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use holloway_abi::environment;
use holloway_format::image::MAP_EXTENSION;
use jiff::Timestamp;

use crate::error::RunDirectoryError;

type Result<T> = std::result::Result<T, RunDirectoryError>;

/// The name of the directory of runs in holloway's directory.
pub const RUNS: &str = "runs";
/// The name of the symlink to the latest run, in the directory of runs.
pub const LATEST: &str = "latest";
/// The default directory of runs, below the current directory.
pub const DEFAULT_RUNS: &str = "target/holloway/runs";
/// The length of the time at the beginning of a run's name.
const TIMESTAMP_LENGTH: usize = "YYYYMMDD-HHMMSS".len();
/// Directory of the path maps that the runs beside it share.
const MAPS: &str = ".maps";
/// The environment variable that names the directory of one run.
pub const DATA: &str = environment::DATA.name;

/// Creates the directory of a new run: `output` (the value of `-o`) if given, else
/// `$HOLLOWAY_DATA`, else a new directory in `runs`.
///
/// # Errors
/// If `output` exists and is not an empty directory, or the directory cannot be created or written.
pub fn create(output: Option<&Path>, runs: &Path, name: &str) -> Result<PathBuf> {
    let directory = match output {
        Some(output) => create_named(output)?,
        None => match std::env::var_os(DATA).filter(|value| !value.is_empty()) {
            Some(data) => create_shared(Path::new(&data))?,
            None => create_in(runs, name)?,
        },
    };
    check_writable(&directory)?;
    let absolute = std::path::absolute(&directory);
    absolute.map_err(|source| RunDirectoryError::NotAbsolute { directory, source })
}

/// Creates the directory of `-o`. It may exist if it is empty.
fn create_named(output: &Path) -> Result<PathBuf> {
    let directory = output.to_owned();
    match std::fs::read_dir(output) {
        Ok(mut entries) => match entries.next() {
            None => Ok(directory),
            Some(_) => Err(RunDirectoryError::NotEmpty { directory }),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            match std::fs::create_dir_all(output) {
                Ok(()) => Ok(directory),
                Err(source) => Err(RunDirectoryError::CreateNamed { directory, source }),
            }
        }
        Err(source) => Err(RunDirectoryError::Unusable { directory, source }),
    }
}

/// Creates the directory of `$HOLLOWAY_DATA`. It may contain profiles, because several programs may
/// record into it.
fn create_shared(data: &Path) -> Result<PathBuf> {
    let directory = data.to_owned();
    match std::fs::create_dir_all(data) {
        Ok(()) => Ok(directory),
        Err(source) => Err(RunDirectoryError::CreateShared { directory, source }),
    }
}

/// Creates a directory in `runs` for a run that begins now. If another run began in the same
/// second, the name gets a number.
///
/// # Errors
/// If the directory cannot be created.
pub fn create_in(runs: &Path, name: &str) -> Result<PathBuf> {
    let stem = format!("{}-{}", timestamp(SystemTime::now()), file_name(name));
    std::fs::create_dir_all(runs).map_err(|error| RunDirectoryError::CreateRuns {
        runs: runs.to_owned(),
        kind: error.kind(),
    })?;
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
            Err(source) => return Err(RunDirectoryError::Create { directory, source }),
        }
    }
    unreachable!("the loop above ends by returning")
}

/// The directory of the path maps that the runs in `runs` share. None if there are no runs yet, and
/// the new run is elsewhere: nothing is written into a directory that the user did not ask for.
pub fn map_store(runs: &Path) -> Option<PathBuf> {
    runs.is_dir().then(|| runs.join(MAPS))
}

/// Checks that files can be written into a directory, so that an error is reported before a long
/// run and not after it.
fn check_writable(directory: &Path) -> Result<()> {
    tempfile::Builder::new()
        .prefix(".holloway-")
        .tempfile_in(directory)
        .map(drop)
        .map_err(|error| RunDirectoryError::NotWritable {
            directory: directory.to_owned(),
            kind: error.kind(),
        })
}

/// Removes a run's directory if it is empty, and makes `latest` point to the run before it.
pub fn discard_if_empty(directory: &Path) {
    // `remove_dir` fails if the directory is not empty.
    if std::fs::remove_dir(directory).is_err() {
        return;
    }
    let Some(runs) = directory.parent() else {
        return;
    };
    let link = runs.join(LATEST);
    let was_latest = std::fs::read_link(&link).is_ok_and(|target| runs.join(target) == directory);
    if !was_latest || std::fs::remove_file(&link).is_err() {
        return;
    }
    match newest_in(runs) {
        Some(previous) => point_latest(runs, &previous),
        // There was no other run. Removes `target/holloway/runs` as far as it is empty.
        None => {
            let store = runs.join(MAPS);
            delete_unused_maps(&store);
            std::fs::remove_dir(store).ok();
            drop(runs.ancestors().take(3).try_for_each(std::fs::remove_dir));
        }
    }
}

/// The run that began last. Runs of one second are ordered by the time of their last change,
/// because their names are not in order.
fn newest_in(runs: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(runs).into_iter().flatten().flatten();
    let directories = entries
        .filter(|entry| entry.file_type().is_ok_and(|file_type| file_type.is_dir()))
        .map(|entry| entry.path())
        .filter(|path| !path.ends_with(MAPS));
    directories.max_by_key(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let second: String = name.chars().take(TIMESTAMP_LENGTH).collect();
        let modified = std::fs::metadata(path).and_then(|metadata| metadata.modified());
        (second, modified.ok())
    })
}

/// Deletes the path maps in the store that no run links to.
pub(crate) fn delete_unused_maps(store: &Path) {
    for map in std::fs::read_dir(store).into_iter().flatten().flatten() {
        let is_unused = map.metadata().is_ok_and(|metadata| metadata.nlink() == 1);
        let is_map = map
            .path()
            .extension()
            .is_some_and(|extension| extension == MAP_EXTENSION);
        if is_unused && is_map {
            std::fs::remove_file(map.path()).ok();
        }
    }
}

/// Makes `latest` point to a run. Does nothing on a file system without symlinks.
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

/// Returns the start time in a run's name: `YYYYMMDD-HHMMSS`.
pub fn start_time(run: &Path) -> Vec<u8> {
    let name = run.file_name().unwrap_or_default().as_encoded_bytes();
    name.iter().copied().take(15).collect()
}

/// Returns the run that `latest` in `runs` points to.
pub fn latest_in(runs: &Path) -> Option<PathBuf> {
    let link = runs.join(LATEST);
    match std::fs::read_link(&link) {
        Ok(target) => Some(runs.join(target)).filter(|run| run.is_dir()),
        Err(_) => link.is_dir().then_some(link),
    }
}

/// Converts a program's name for use in a file name. Unusual characters become `_`.
fn file_name(name: &str) -> String {
    let replace = |c: char| {
        if c.is_alphanumeric() || "._+-".contains(c) {
            c
        } else {
            '_'
        }
    };
    let name: String = name.chars().map(replace).take(60).collect();
    if name.is_empty() {
        "program".to_owned()
    } else {
        name
    }
}

/// Formats a time as `YYYYMMDD-HHMMSS` in UTC.
fn timestamp(time: SystemTime) -> String {
    let time = Timestamp::try_from(time).unwrap_or_default();
    time.strftime("%Y%m%d-%H%M%S").to_string()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn timestamps_are_utc() {
        let format = |seconds| timestamp(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(format(0), "19700101-000000");
        assert_eq!(format(951_782_399), "20000228-235959");
        assert_eq!(format(951_782_400), "20000229-000000");
        assert_eq!(format(1_767_323_045), "20260102-030405");
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
    fn a_run_that_did_not_start_leaves_the_latest_run_as_it_was() {
        let runs = tempfile::tempdir().unwrap();
        create_in(runs.path(), "zoo").unwrap();
        let latest = create_in(runs.path(), "app").unwrap();
        std::fs::write(latest.join("1-app.hwp"), "").unwrap();
        let failed = create_in(runs.path(), "app").unwrap();
        discard_if_empty(&failed);
        assert_eq!(latest_in(runs.path()).unwrap(), latest);
    }

    #[test]
    fn the_last_run_takes_the_unused_maps_with_it() {
        let home = tempfile::tempdir().unwrap();
        let runs = home.path().join("target/holloway/runs");
        let first = create_in(&runs, "app").unwrap();
        let store = map_store(&runs).unwrap();
        std::fs::create_dir(&store).unwrap();
        let map = store.join("0123.hwm");
        std::fs::write(&map, "map").unwrap();
        std::fs::hard_link(&map, home.path().join("moved-run.hwm")).unwrap();
        std::fs::write(store.join("4567.hwm"), "unused map").unwrap();
        discard_if_empty(&first);
        // A run that was moved away still uses the first map.
        assert!(map.exists() && !store.join("4567.hwm").exists());

        let second = create_in(&runs, "app").unwrap();
        std::fs::remove_file(home.path().join("moved-run.hwm")).unwrap();
        discard_if_empty(&second);
        assert!(!home.path().join("target").exists());
    }

    #[test]
    fn a_directory_that_is_not_empty_is_rejected() {
        let runs = tempfile::tempdir().unwrap();
        assert!(create_named(runs.path()).is_ok());
        std::fs::write(runs.path().join("file"), "x").unwrap();
        let error = create_named(runs.path()).unwrap_err().to_string();
        assert!(
            error.contains("not empty") && error.contains("choose another"),
            "{error}"
        );
    }
}
