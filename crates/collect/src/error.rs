//! Errors between a running program and its files. Each stage has its own error type.
//!
//! The command line turns these errors into its failures, with an exit status.

use std::io;
use std::path::PathBuf;

use holloway_abi::environment;
use holloway_analysis::note::Note;

/// A program or shared object could not be inspected.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// The file could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The file is no object file.
    #[error("cannot read {} as a program: {source}", path.display())]
    NoProgram {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: object::Error,
    },
    /// The file has no path map.
    #[error("cannot find a path map in {}: it was not built by holloway", path.display())]
    NotWoven {
        /// The file.
        path: PathBuf,
    },
    /// The section with the path map could not be read.
    #[error("cannot read the path map of {}: {source}", path.display())]
    Section {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: object::Error,
    },
}

/// A run's directory could not be read, or a file in it could not be written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The directory could not be listed.
    #[error("cannot read the run's directory {}: {source}", directory.display())]
    ReadDirectory {
        /// The directory.
        directory: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A file could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A file could not be written. The name of the temporary file in between is left out.
    #[error("cannot write {}: {kind}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The reason.
        kind: io::ErrorKind,
    },
    /// The trace beside a profile could not be written.
    #[error("cannot write the trace of {}: {source}", profile.display())]
    WriteTrace {
        /// The profile.
        profile: PathBuf,
        /// The reason.
        source: io::Error,
    },
}

/// The directory of a new run could not be made.
#[derive(Debug, thiserror::Error)]
pub enum RunDirectoryError {
    /// `-o` names a directory that holds something.
    #[error(
        "cannot record into {}: it is not empty, and an earlier run is never overwritten; choose another directory or delete it",
        directory.display()
    )]
    NotEmpty {
        /// The directory.
        directory: PathBuf,
    },
    /// `-o` names something that cannot be listed.
    #[error("cannot record into {}: {source}; choose another directory", directory.display())]
    Unusable {
        /// The directory.
        directory: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The directory that `-o` names could not be created.
    #[error("cannot create the run's directory {}: {source}", directory.display())]
    CreateNamed {
        /// The directory.
        directory: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The directory that `HOLLOWAY_DATA` names could not be created.
    #[error(
        "cannot create the run's directory {} ({}): {source}",
        directory.display(),
        environment::DATA.name
    )]
    CreateShared {
        /// The directory.
        directory: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The directory that holds all runs could not be created.
    #[error(
        "cannot create the directory of runs {}: {kind}; name another directory with -o or {}",
        runs.display(),
        environment::DATA.name
    )]
    CreateRuns {
        /// The directory.
        runs: PathBuf,
        /// The reason.
        kind: io::ErrorKind,
    },
    /// The run's own directory could not be created.
    #[error(
        "cannot create the run's directory {}: {source}; name another with -o",
        directory.display()
    )]
    Create {
        /// The directory.
        directory: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// Nothing can be written into the directory.
    #[error(
        "cannot write into the run's directory {}: {kind}; name another directory with -o or {}",
        directory.display(),
        environment::DATA.name
    )]
    NotWritable {
        /// The directory.
        directory: PathBuf,
        /// The reason.
        kind: io::ErrorKind,
    },
    /// The current directory is unknown.
    #[error("cannot make {} absolute: {source}", directory.display())]
    NotAbsolute {
        /// The directory.
        directory: PathBuf,
        /// The reason.
        source: io::Error,
    },
}

/// The program to profile could not be run to its end.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// It could not be started.
    #[error("{0}")]
    Start(io::Error),
    /// Its end could not be waited for.
    #[error("cannot wait for the program: {0}")]
    Wait(io::Error),
}

/// A run could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// There is no such run.
    #[error(
        "cannot read the run {}: {source}; name a run's directory, as in target/holloway/runs",
        run.display()
    )]
    NoRun {
        /// The run as it was named.
        run: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A path map was named, which holds no counts.
    #[error(
        "{} is a path map, which has no counts: name the run's directory, or a profile in it (.hwp)",
        file.display()
    )]
    PathMap {
        /// The file as it was named.
        file: PathBuf,
    },
    /// The run's directory holds no profile.
    #[error(
        "cannot find a profile in {}: no .hwp file there; record a run with `holloway run -- ./app` or `cargo holloway run`",
        run.display()
    )]
    NoProfile {
        /// The run.
        run: PathBuf,
    },
    /// None of the run's profiles could be read.
    #[error("cannot read any profile in {}", run.display())]
    NoReadableProfile {
        /// The run.
        run: PathBuf,
        /// The reason why the first profile could not be read.
        first: Box<Note>,
        /// Number of the other profiles.
        others: usize,
    },
    /// The run's directory could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}
