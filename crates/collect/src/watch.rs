//! Searches a run's directory for raw profiles with streams, and the profiles for new rings.
//!
//! A busy thread fills its ring in a millisecond or two, and then waits until words are taken out.
//! So the directory is searched every 2 ms. It is searched less often if no program with streams
//! runs, or if a search takes long because there are thousands of profiles.

use std::collections::{HashMap, HashSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use holloway_rings::{Opened, Ring, RingFile};

use crate::files::is_profile;
use crate::notice::{Notice, Notify};
use crate::process::has_ended;

/// The time between two searches while programs with streams run.
const BUSY_INTERVAL: Duration = Duration::from_millis(2);
/// The time between two searches while no program with streams runs.
const IDLE_INTERVAL: Duration = Duration::from_millis(10);
/// The time between two searches for ended processes.
const ENDED_INTERVAL: Duration = Duration::from_millis(100);

/// The state of watching a run's directory.
#[derive(Debug)]
pub(super) struct Watch {
    directory: PathBuf,
    /// The raw profiles whose rings this process collects.
    files: HashMap<PathBuf, RingFile>,
    /// The profiles that need no further attention: they have no streams, another process collects
    /// their streams, their process has ended, or they cannot be opened.
    ignored: HashSet<PathBuf>,
    /// The time of the last search for ended processes.
    last_ended_check: Instant,
    notify: Notify,
}

/// A new ring, or the end of a process.
#[derive(Debug)]
pub(super) enum WatchEvent<'a> {
    /// A new ring, in the profile with this path.
    Ring(&'a Path, &'a RingFile, Ring),
    /// The process of the profile with this path has ended. All its rings were reported before.
    Ended(&'a Path),
}

impl Watch {
    pub(super) fn new(directory: &Path, notify: Notify) -> Self {
        Self {
            directory: directory.to_owned(),
            files: HashMap::new(),
            ignored: HashSet::new(),
            last_ended_check: Instant::now(),
            notify,
        }
    }

    /// Searches for new rings and for ended processes, and reports them. Returns how long to wait
    /// before the next search.
    pub(super) fn search(&mut self, mut report: impl FnMut(WatchEvent<'_>)) -> Duration {
        let start = Instant::now();
        self.find_files();
        let checks_ended = self.last_ended_check.elapsed() >= ENDED_INTERVAL;
        let mut ended = Vec::new();
        for (path, file) in &mut self.files {
            let has_ended = checks_ended && has_ended(file.head());
            // Rings are searched after the check whether the process has ended. So the last rings
            // of a process are reported before its end.
            for ring in file.new_rings().unwrap_or_default() {
                report(WatchEvent::Ring(path, file, ring));
            }
            if has_ended {
                report(WatchEvent::Ended(path));
                ended.push(path.clone());
            }
        }
        for path in ended {
            self.files.remove(&path);
            self.ignored.insert(path);
        }
        if checks_ended {
            self.last_ended_check = Instant::now();
        }
        let interval = match self.files.is_empty() {
            true => IDLE_INTERVAL,
            false => BUSY_INTERVAL,
        };
        // Searching takes at most a fifth of the time.
        interval.max(start.elapsed() * 4)
    }

    /// Searches like [`search`](Self::search), but always checks which processes have ended. The
    /// next search need not wait.
    pub(super) fn search_now(&mut self, report: impl FnMut(WatchEvent<'_>)) -> Duration {
        self.last_ended_check = Instant::now()
            .checked_sub(ENDED_INTERVAL)
            .unwrap_or(self.last_ended_check);
        self.search(report);
        Duration::ZERO
    }

    fn find_files(&mut self) {
        let entries = std::fs::read_dir(&self.directory).into_iter().flatten();
        for path in entries.flatten().map(|entry| entry.path()) {
            if !is_profile(&path) || self.files.contains_key(&path) || self.ignored.contains(&path)
            {
                continue;
            }
            match RingFile::open(&path) {
                Ok(Opened::Streams(file)) if is_collected_here(&file) => {
                    self.files.insert(path, file);
                }
                Ok(Opened::Streams(_) | Opened::Other) => {
                    self.ignored.insert(path);
                }
                Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                    self.ignored.insert(path.clone());
                    (self.notify)(Notice::PermissionDenied { profile: path });
                }
                // The next search tries again. If the error is that too many files are open, the
                // threads of the profile wait until it can be opened.
                Ok(Opened::Unfinished) | Err(_) => {}
            }
        }
    }
}

/// Returns whether this process is the profile's collector.
fn is_collected_here(file: &RingFile) -> bool {
    file.collector().is_ok_and(|pid| pid == std::process::id())
}
