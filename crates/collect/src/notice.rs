//! Notices: failures that a running collector reports to its caller, which prints them.

use std::path::PathBuf;

use crate::error::StoreError;

/// A failure of the collector while a program runs. The program continues.
#[derive(Debug)]
pub enum Notice {
    /// A file of the run's directory could not be written.
    Unwritten(StoreError),
    /// A profile's rings could not be opened, because another user owns the profile. If the program
    /// appends to streams, its threads wait as long as this collector runs.
    PermissionDenied {
        /// The profile.
        profile: PathBuf,
    },
}

/// Receives the notices of a collector. Any thread of the collector may call it.
pub type Notify = fn(Notice);
