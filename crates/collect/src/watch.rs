//! Looks for profiles with streams in a run's directory, and for rings in them.
//!
//! A busy thread fills its ring in a millisecond or two, and waits when the ring is full. So the
//! directory is read that often, unless reading takes long itself (thousands of profiles), or no
//! program with streams runs now.

use std::collections::{HashMap, HashSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use holloway_rings::{Opened, Ring, RingFile};

use crate::files::is_profile;
use crate::notice::{Notice, Notify};
use crate::process::has_ended;

/// Between two looks while there are streams.
const BUSY_INTERVAL: Duration = Duration::from_millis(2);
/// Between two looks while there are none.
const IDLE_INTERVAL: Duration = Duration::from_millis(10);
/// Between two looks for ended processes.
const ENDED_INTERVAL: Duration = Duration::from_millis(100);

/// The profiles of a directory that were seen.
#[derive(Debug)]
pub(super) struct Watch {
    directory: PathBuf,
    files: HashMap<PathBuf, RingFile>,
    others: HashSet<PathBuf>,
    asked: Instant,
    notify: Notify,
}

/// A ring that has come, or a process that is gone.
#[derive(Debug)]
pub(super) enum News<'a> {
    /// A ring in the profile of this path.
    Ring(&'a Path, &'a RingFile, Ring),
    /// The process of a profile is gone, and all its rings were reported.
    Ended(&'a Path),
}

impl Watch {
    pub(super) fn new(directory: &Path, notify: Notify) -> Self {
        Self {
            directory: directory.to_owned(),
            files: HashMap::new(),
            others: HashSet::new(),
            asked: Instant::now(),
            notify,
        }
    }

    /// Looks for new rings and for processes that are gone. Returns how long to wait before the
    /// next look.
    pub(super) fn look(&mut self, mut tell: impl FnMut(News<'_>)) -> Duration {
        let began = Instant::now();
        self.find_files();
        let asks = self.asked.elapsed() >= ENDED_INTERVAL;
        let mut ended = Vec::new();
        for (path, file) in &mut self.files {
            let has_ended = asks && has_ended(file.head());
            // Look after asking which processes have ended. So a process's last rings are reported
            // before its end.
            let rings = file.new_rings().unwrap_or_default();
            rings
                .into_iter()
                .for_each(|ring| tell(News::Ring(path, file, ring)));
            if has_ended {
                tell(News::Ended(path));
                ended.push(path.clone());
            }
        }
        for path in ended {
            self.files.remove(&path);
            self.others.insert(path);
        }
        if asks {
            self.asked = Instant::now();
        }
        let interval = match self.files.is_empty() {
            true => IDLE_INTERVAL,
            false => BUSY_INTERVAL,
        };
        interval.max(began.elapsed() * 4)
    }

    /// Looks, and asks at once which processes have ended. The next look need not wait.
    pub(super) fn look_now(&mut self, tell: impl FnMut(News<'_>)) -> Duration {
        self.asked = Instant::now()
            .checked_sub(ENDED_INTERVAL)
            .unwrap_or(self.asked);
        self.look(tell);
        Duration::ZERO
    }

    fn find_files(&mut self) {
        let entries = std::fs::read_dir(&self.directory).into_iter().flatten();
        for path in entries.flatten().map(|entry| entry.path()) {
            if !is_profile(&path) || self.files.contains_key(&path) || self.others.contains(&path) {
                continue;
            }
            match RingFile::open(&path) {
                Ok(Opened::Streams(file)) if is_ours(&file) => {
                    self.files.insert(path, file);
                }
                Ok(Opened::Streams(_) | Opened::Other) => {
                    self.others.insert(path);
                }
                Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                    self.others.insert(path.clone());
                    (self.notify)(Notice::PermissionDenied { profile: path });
                }
                // Too many files may be open: the threads of the profile wait until it can be
                // opened.
                Ok(Opened::Unfinished) | Err(_) => {}
            }
        }
    }
}

/// Whether this process is the profile's collector. Other streams belong to other collectors.
fn is_ours(file: &RingFile) -> bool {
    file.collector().is_ok_and(|pid| pid == std::process::id())
}
