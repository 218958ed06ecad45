//! Notices of a running collector to its caller, who words them.

use std::path::PathBuf;

use crate::error::StoreError;

/// A failure of the collector while a program runs. The program goes on.
#[derive(Debug)]
pub enum Notice {
    /// A file of the run's directory could not be written.
    Unwritten(StoreError),
    /// A profile's rings could not be opened, because another user owns the profile. If its program
    /// has streams, its threads wait as long as this collector runs.
    PermissionDenied {
        /// The profile.
        profile: PathBuf,
    },
}

/// Receives the notices of a collector, on any of its threads.
pub type Notify = fn(Notice);
