//! The failure of a command: one line for stderr, and an exit code.
//!
//! | code | meaning |
//! |---|---|
//! | 1 | `holloway trace verify`: the trace is incomplete or damaged; no [`Failure`] |
//! | 1 | `holloway diff`: the counts differ; no [`Failure`] |
//! | 2 | usage error: unknown option, unknown kind of profile |
//! | 3 | `holloway check`: a limit is broken; no [`Failure`] |
//! | 101 | cargo: the build failed |
//! | 125 | holloway itself failed: no readable profile, a directory not writable, … |
//! | 126 | the program was found but could not be run |
//! | 127 | the program was not found |
//! | 128+n | the program was killed by signal n |
//! | other | the exit code of the program |

use std::ffi::OsStr;
use std::fmt;

use holloway_collect::burst::BurstVariableError;
use holloway_collect::error::{ImageError, LoadError, MergeError, RunDirectoryError, StoreError};
use holloway_link::Fault;
use holloway_report::notes::sentence;
use rustix::io::Errno;

/// The exit code if holloway itself could not do its work.
pub(crate) const FAILED: u8 = 125;
/// The exit code if the program to profile exists but cannot be executed.
pub(crate) const CANNOT_RUN: u8 = 126;
/// The exit code if the program to profile does not exist.
pub(crate) const NOT_FOUND: u8 = 127;
/// The exit code of `holloway diff` if counts differ.
pub(crate) const DIFFERENT: u8 = 1;
/// The exit code of `holloway check` if a limit is broken.
pub(crate) const BROKEN_LIMIT: u8 = 3;
/// The exit code of a wrong command line.
pub(crate) const USAGE: u8 = 2;

/// A command's failure.
#[derive(Debug)]
pub(crate) struct Failure {
    /// Exit code.
    pub(crate) code: u8,
    /// One line, without the leading `holloway: `.
    pub(crate) message: String,
}

/// Result of a command.
pub(crate) type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    /// A failure of holloway itself ([`FAILED`]).
    pub(crate) fn new(message: impl fmt::Display) -> Self {
        Self::with_code(FAILED, message)
    }

    /// A wrong command line ([`USAGE`]).
    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Self::with_code(USAGE, message)
    }

    /// The failure to start a program. The exit codes are those of env(1).
    pub(crate) fn cannot_run(program: &OsStr, error: &std::io::Error) -> Self {
        let code = if error.kind() == std::io::ErrorKind::NotFound {
            NOT_FOUND
        } else {
            CANNOT_RUN
        };
        Self::with_code(
            code,
            format_args!("cannot run {}: {error}{}", program.display(), remedy(error)),
        )
    }

    /// A failure with a given exit code. A failure is one line, so newlines in the message become
    /// `; `.
    pub(crate) fn with_code(code: u8, message: impl fmt::Display) -> Self {
        let message = message.to_string();
        let lines: Vec<&str> = message
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .collect();
        Self {
            code,
            message: lines.join("; "),
        }
    }
}

/// What the user can do about an error of the system. Empty if the error says enough.
fn remedy(error: &std::io::Error) -> &'static str {
    match Errno::from_io_error(error) {
        Some(Errno::MFILE) => ": raise the limit of open files (ulimit -n)",
        Some(Errno::NFILE) => ": raise the machine's limit of open files (sysctl fs.file-max)",
        Some(Errno::AGAIN) => ": raise the limit of processes (ulimit -u)",
        Some(Errno::NOMEM) => ": free memory, or raise its limit (ulimit -v)",
        // The variants of the system's errors are not a closed list.
        Some(_) | None => "",
    }
}

impl From<holloway_link::Error> for Failure {
    fn from(error: holloway_link::Error) -> Self {
        let code = match error.fault() {
            Fault::Usage => USAGE,
            Fault::ProgramNotFound => NOT_FOUND,
            Fault::ProgramNotRunnable => CANNOT_RUN,
            Fault::Work => FAILED,
        };
        Self::with_code(code, error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Converts errors of other crates into failures with an exit code.
macro_rules! failures {
    ($($error:ty => $code:expr),* $(,)?) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::with_code($code(&error), error)
            }
        })*
    };
}

failures! {
    ImageError => |_: &ImageError| FAILED,
    StoreError => |_: &StoreError| FAILED,
    RunDirectoryError => |_: &RunDirectoryError| FAILED,
    BurstVariableError => |_: &BurstVariableError| USAGE,
    MergeError => |_: &MergeError| FAILED,
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::PathMap { .. } | LoadError::OnlySamples { .. } => Self::usage(error),
            LoadError::NoReadableProfile { run, first, others } => match others {
                0 => Self::new(format_args!("cannot read {}", sentence(&first))),
                _ => Self::new(format_args!(
                    "cannot read any profile in {}: {}; and {others} more",
                    run.display(),
                    sentence(&first)
                )),
            },
            LoadError::NoRun { .. } | LoadError::NoProfile { .. } | LoadError::Store(_) => {
                Self::new(error)
            }
        }
    }
}

/// Turns errors into failures of holloway itself.
pub(crate) trait Context<T> {
    /// Turns an error into the failure `cannot {action}: {error}`.
    fn cannot(self, action: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: fmt::Display> Context<T> for std::result::Result<T, E> {
    fn cannot(self, action: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|error| Failure::new(format_args!("cannot {}: {error}", action())))
    }
}
