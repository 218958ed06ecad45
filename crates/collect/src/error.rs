//! The errors of running a program and of reading and writing the files of its run. Each stage has
//! an error type.
//!
//! The command line adds an exit status to these errors.

use std::io;
use std::path::PathBuf;

use holloway_abi::environment;
use holloway_analysis::note::Note;
use holloway_sample::monitor::MonitorError;

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
    /// A file could not be written. The error does not contain the name of the temporary file that
    /// was written first.
    #[error("cannot write {}: {kind}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The reason.
        kind: io::ErrorKind,
    },
    /// The run's directory has an import.
    #[error(
        "cannot import into {}: it has an import, and an earlier one is never overwritten; choose another directory",
        directory.display()
    )]
    Imported {
        /// The directory.
        directory: PathBuf,
    },
    /// The trace next to a profile could not be written.
    #[error("cannot write the trace of {}: {source}", profile.display())]
    WriteTrace {
        /// The profile.
        profile: PathBuf,
        /// The reason.
        source: io::Error,
    },
}

/// The directory of a new run could not be created.
#[derive(Debug, thiserror::Error)]
pub enum RunDirectoryError {
    /// `-o` names a directory that is not empty.
    #[error(
        "cannot record into {}: it is not empty, and an earlier run is never overwritten; choose another directory or delete it",
        directory.display()
    )]
    NotEmpty {
        /// The directory.
        directory: PathBuf,
    },
    /// `-o` names a file, or a directory that cannot be listed.
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
    /// The directory for all runs could not be created.
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
    /// The directory of this run could not be created.
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
    /// No file can be written into the directory.
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

/// Runs could not be merged.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// The output is a directory with files.
    #[error(
        "cannot merge into {}: it is not empty, and an earlier run is never overwritten; choose another directory or delete it",
        directory.display()
    )]
    NotEmpty {
        /// The directory.
        directory: PathBuf,
    },
    /// A program still runs, or its run could not be finished.
    #[error(
        "cannot merge {}, which is not finished: wait until its program has ended; if it has, the profile is damaged or its directory cannot be written",
        profile.display()
    )]
    NotFinished {
        /// The profile.
        profile: PathBuf,
    },
    /// The path map of a profile is neither beside it nor in the program.
    #[error("cannot merge {}: its path map is gone, and so is its program", profile.display())]
    NoMap {
        /// The profile.
        profile: PathBuf,
    },
    /// A file could not be copied.
    #[error("cannot copy {}: {source}", file.display())]
    Copy {
        /// The file.
        file: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A directory could not be read, or a file could not be written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The program to profile could not be run to its end.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The program could not be started.
    #[error("{0}")]
    Start(io::Error),
    /// Waiting for the program's end failed.
    #[error("cannot wait for the program: {0}")]
    Wait(io::Error),
}

/// A program could not be watched.
#[derive(Debug, thiserror::Error)]
pub enum MonitorRunError {
    /// The monitor could not start.
    #[error(transparent)]
    Monitor(#[from] MonitorError),
    /// The samples could not be written.
    #[error("{0}; the samples written before are there, make room and watch again")]
    Store(#[from] StoreError),
    /// The program could not be run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The process of the program and the monitor could not talk to each other.
    #[error("cannot prepare the program's process: {0}")]
    Socket(io::Error),
    /// The process of the program ended before it could be watched.
    #[error("the program's process ended before it could be watched")]
    NotStarted,
}

/// The reason why a store of profiles cannot be updated.
#[derive(Debug, thiserror::Error)]
pub enum ProfileStoreError {
    /// The directory could not be created.
    #[error("cannot create the store {}: {source}", store.display())]
    Create {
        /// The store.
        store: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// Another manager uses the store.
    #[error("another manager uses the store {}: try again when it has finished", store.display())]
    InUse {
        /// The store.
        store: PathBuf,
    },
    /// The database could not be read or written.
    #[error("cannot use the store {}: {source}; make room, or delete the store to begin again", store.display())]
    Database {
        /// The store.
        store: PathBuf,
        /// The reason.
        source: Box<redb::Error>,
    },
    /// A file of the store could not be written.
    #[error(transparent)]
    Write(StoreError),
}

/// A run could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The run does not exist.
    #[error(
        "cannot read the run {}: {source}; name a run's directory, as in target/holloway/runs",
        run.display()
    )]
    NoRun {
        /// The path that the user named.
        run: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The user named a path map, which contains no counts.
    #[error(
        "{} is a path map, which has no counts: name the run's directory, or a profile in it (.hwp)",
        file.display()
    )]
    PathMap {
        /// The path that the user named.
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
    /// A monitor watched the run, and nothing was counted.
    #[error(
        "{} has samples of `holloway monitor`, not counts: see them with `holloway report`, or record a run with `holloway run -- ./app`",
        run.display()
    )]
    OnlySamples {
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
        /// The number of the other profiles.
        others: usize,
    },
    /// The run's directory could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}
