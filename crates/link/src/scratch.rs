//! Private directories for temporary files. A directory is deleted when its owner drops it, or when
//! a signal ends the process.
//!
//! One thread waits for signals and deletes all directories. If each directory had a thread of its
//! own, the first of them would end the process while others still delete.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use tempfile::TempDir;

use crate::error::{Error, Result};

/// The directories that exist.
static DIRECTORIES: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// A private directory for temporary files.
#[derive(Debug)]
pub struct Scratch {
    directory: TempDir,
}

impl Scratch {
    /// Makes a directory whose name begins with `prefix`.
    ///
    /// # Errors
    /// If the temporary directory cannot be written.
    pub fn new(prefix: &str) -> Result<Self> {
        delete_at_signals();
        // No signal is handled between making and listing.
        let mut directories = directories();
        let directory = tempfile::Builder::new().prefix(prefix).tempdir();
        let directory = directory.map_err(|source| Error::ScratchDirectory {
            path: std::env::temp_dir(),
            source,
        })?;
        directories.insert(directory.path().to_owned());
        drop(directories);
        Ok(Self { directory })
    }

    /// The directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A signal waits until the directory is deleted.
        let mut directories = directories();
        let _ = std::fs::remove_dir_all(self.path());
        directories.remove(self.path());
    }
}

fn directories() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    DIRECTORIES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts the thread that waits for signals.
fn delete_at_signals() {
    static START: Once = Once::new();
    START.call_once(|| {
        if let Ok(mut signals) = Signals::new([SIGINT, SIGTERM, SIGHUP]) {
            std::thread::spawn(move || {
                if let Some(signal) = signals.forever().next() {
                    // The lock is kept, so that no other directory is made.
                    let directories = directories();
                    directories.iter().for_each(|directory| delete(directory));
                    let _ = emulate_default_handler(signal);
                }
            });
        }
    });
}

/// Deletes a directory. Other processes of the same process group may still write files there while
/// they end, so it is tried again.
fn delete(directory: &Path) {
    const ATTEMPTS: usize = 20;
    const PAUSE: std::time::Duration = std::time::Duration::from_millis(10);
    for _ in 0..ATTEMPTS {
        if std::fs::remove_dir_all(directory).is_ok() || !directory.exists() {
            return;
        }
        std::thread::sleep(PAUSE);
    }
}
