//! Locks: on values that threads share, and on profiles that processes share.

use std::fs::File;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a value. A thread that panicked left it whole: each word was fed or not.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why a profile is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// To read it, with others.
    Read,
    /// To finish it, alone.
    Finish,
}

/// Keeps other processes from finishing a profile as long as the returned file is open. A file
/// system without locks goes without.
pub(crate) fn hold(profile: &Path, access: Access) -> Option<File> {
    let is_file = profile.metadata().is_ok_and(|file| file.is_file());
    let file = is_file.then(|| File::open(profile).ok()).flatten()?;
    let held = match access {
        Access::Read => file.lock_shared(),
        Access::Finish => file.lock(),
    };
    held.is_ok().then_some(file)
}
