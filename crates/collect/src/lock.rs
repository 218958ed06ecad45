//! Locks for values that threads share, and for profiles that processes share.

use std::fs::File;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a value, even if a thread panicked while it held the lock. The value is still consistent
/// then, because a word is either analyzed completely or not at all.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The purpose for which a profile is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// The caller reads the profile. Other processes may read it too.
    Read,
    /// The caller finishes the profile. Other processes must wait.
    Finish,
}

/// Locks a profile as long as the returned file is open, so that no other process finishes it.
/// Returns `None` if the file system has no locks.
pub(crate) fn hold(profile: &Path, access: Access) -> Option<File> {
    let is_file = profile.metadata().is_ok_and(|file| file.is_file());
    let file = is_file.then(|| File::open(profile).ok()).flatten()?;
    let locked = match access {
        Access::Read => file.lock_shared(),
        Access::Finish => file.lock(),
    };
    locked.is_ok().then_some(file)
}
