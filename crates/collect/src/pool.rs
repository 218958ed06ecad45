//! The threads of the collector: one watches the run's directory for new rings, *workers* take
//! words out of the rings and feed them to the analysis, and a *sealer* seals profiles.
//!
//! Only one worker reads a ring at a time. There are as many workers as processors, but at most as
//! many of them are active as there are rings.
//!
//! A worker takes whole chunks out of the ring of a busy thread. So it does not touch the cache
//! line that the thread writes to next. It takes less than a chunk only if no more words came for a
//! while, or if the ring's owner waits for space.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use holloway_abi::CHUNK;
use holloway_analysis::stream::Words;
use holloway_rings::{Ring, RingFile};

use crate::error::StoreError;
use crate::lock::locked;
use crate::notice::{Notice, Notify};
use crate::path_map::{store_map, stored_map};
use crate::process_streams::ProcessStreams;
use crate::ring_stream::RingStream;
use crate::settings::Settings;
use crate::watch::{Watch, WatchEvent};

/// If no more words come for this time, less than a chunk is taken.
const IDLE_TIME: Duration = Duration::from_millis(3);
/// The maximum number of bytes to take at once.
const MAX_TAKEN: u64 = 4 * CHUNK;
/// The shortest and longest sleep of an idle worker. A busy thread fills its ring in a few
/// milliseconds.
const SLEEP_RANGE: [Duration; 2] = [Duration::from_micros(100), Duration::from_millis(2)];

/// The phase in which workers take words out of rings.
const RUNNING: u8 = 0;
/// The phase in which the collector and its workers end.
const ENDING: u8 = 1;

/// The collector of a run. Dropping it ends its threads.
pub struct Collector {
    shared: Arc<Shared>,
    watcher: Option<JoinHandle<()>>,
}

struct Shared {
    directory: PathBuf,
    settings: Settings,
    /// [`RUNNING`] or [`ENDING`].
    phase: AtomicU8,
    watch: Mutex<Watch>,
    readers: Mutex<Vec<Arc<Mutex<RingReader>>>>,
    /// The running processes, by the path of their raw profile.
    processes: Mutex<HashMap<PathBuf, Arc<ProcessStreams>>>,
    /// The processes that have ended and are not sealed yet.
    ended: Mutex<VecDeque<Arc<ProcessStreams>>>,
    /// Locked by the thread that seals.
    sealing: Mutex<()>,
    /// The table of each image's words, by build id. `None` if an image has no path map.
    words: Mutex<HashMap<[u8; 16], Option<Words>>>,
    notify: Notify,
}

/// When a search checks which processes have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EndedCheck {
    /// The search checks only if the last check is long enough ago.
    AtIntervals,
    /// The search checks in any case.
    Always,
}

/// Whether a process still runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProcessState {
    Running,
    Ended,
}

/// Takes words out of one ring and feeds them to the analysis.
struct RingReader {
    ring: Ring,
    process: Arc<ProcessStreams>,
    stream: RingStream,
    /// The words that were taken last.
    words: Vec<u32>,
    /// The number of bytes that waited at the last turn.
    waiting: u64,
    /// The time since which this number has not changed.
    unchanged_since: Instant,
}

impl Collector {
    /// Starts the collector for a run's directory.
    ///
    /// # Errors
    /// If its thread cannot be started.
    pub(crate) fn start(
        directory: &Path,
        settings: Settings,
        notify: Notify,
    ) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            directory: directory.to_owned(),
            settings,
            phase: AtomicU8::new(RUNNING),
            watch: Mutex::new(Watch::new(directory, notify)),
            readers: Mutex::default(),
            processes: Mutex::default(),
            ended: Mutex::default(),
            sealing: Mutex::default(),
            words: Mutex::default(),
            notify,
        });
        let watcher_shared = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("collector".to_owned());
        let watcher = thread.spawn(move || watcher_shared.watch())?;
        Ok(Self {
            shared,
            watcher: Some(watcher),
        })
    }

    /// Takes the last words of a program that has ended, and seals its profiles. Stores the current
    /// results of processes that continue to run.
    pub fn drain(&self) {
        self.shared.search(EndedCheck::Always);
        self.shared.seal();
        for (_, process) in self.shared.running_processes() {
            self.shared.empty(&process, ProcessState::Running);
            self.shared.check(process.keep());
        }
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.shared.phase.store(ENDING, Ordering::SeqCst);
        if let Some(watcher) = self.watcher.take() {
            watcher.thread().unpark();
            // If the thread panicked, the panic has printed its message.
            watcher.join().ok();
        }
        self.drain();
        for (_, process) in self.shared.running_processes() {
            self.shared.check(process.close());
        }
    }
}

impl Shared {
    fn is_running(&self) -> bool {
        self.phase.load(Ordering::SeqCst) == RUNNING
    }

    /// Runs the thread that watches the run's directory. It starts the workers when the first ring
    /// has words.
    fn watch(&self) {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            let mut workers = 0;
            while self.is_running() {
                let pause = self.search(EndedCheck::AtIntervals);
                if workers == 0 && self.take_turns(&mut Vec::new()) {
                    for _ in 0..processors {
                        let number = workers;
                        let thread = std::thread::Builder::new().name(format!("worker {number}"));
                        let spawned = thread.spawn_scoped(scope, move || self.work(number));
                        workers += usize::from(spawned.is_ok());
                    }
                }
                if !locked(&self.ended).is_empty() && self.sealing.try_lock().is_ok() {
                    let thread = std::thread::Builder::new().name("sealer".to_owned());
                    // If the thread cannot be started, `drain` seals after the program's end.
                    thread.spawn_scoped(scope, || self.seal()).ok();
                }
                std::thread::park_timeout(pause);
            }
        });
    }

    /// Searches for new rings and for processes that have ended. Returns how long to wait before
    /// the next search.
    fn search(&self, check: EndedCheck) -> Duration {
        let mut ended = Vec::new();
        let report = |event: WatchEvent<'_>| match event {
            WatchEvent::Ring(path, file, ring) => {
                let mut processes = locked(&self.processes);
                let process = processes
                    .entry(path.to_owned())
                    .or_insert_with(|| Arc::new(self.process(path, file)));
                let reader = RingReader::new(ring, Arc::clone(process));
                locked(&self.readers).push(Arc::new(Mutex::new(reader)));
            }
            WatchEvent::Ended(path) => ended.push(path.to_owned()),
        };
        let mut watch = locked(&self.watch);
        let pause = match check {
            EndedCheck::AtIntervals => watch.search(report),
            EndedCheck::Always => watch.search_now(report),
        };
        for path in ended {
            let process = locked(&self.processes).remove(&path);
            locked(&self.ended).extend(process);
        }
        pause
    }

    /// Seals the processes that have ended, one after the other. Sealing long streams takes long.
    /// Other threads continue to find and empty rings meanwhile.
    fn seal(&self) {
        let _lock = locked(&self.sealing);
        loop {
            let next = locked(&self.ended).pop_front();
            let Some(process) = next else { break };
            self.empty(&process, ProcessState::Ended);
            self.check(process.seal());
        }
    }

    fn process(&self, path: &Path, file: &RingFile) -> ProcessStreams {
        let head = &file.head().profile;
        let mut words_by_build = locked(&self.words);
        let words = words_by_build.entry(head.build_id).or_insert_with(|| {
            if let Err(error) = store_map(&self.directory, head, &self.settings.maps) {
                (self.notify)(Notice::Unwritten(error));
            }
            stored_map(&self.directory, head).map(|map| Words::new(&Arc::new(map)))
        });
        ProcessStreams::live(path, head, words.clone(), self.settings.clone())
    }

    fn running_processes(&self) -> Vec<(PathBuf, Arc<ProcessStreams>)> {
        let processes = locked(&self.processes);
        let pairs = processes.iter();
        pairs
            .map(|(path, process)| (path.clone(), Arc::clone(process)))
            .collect()
    }

    /// Takes all words that are in the rings of a process. If the process has ended, its rings are
    /// removed.
    fn empty(&self, process: &Arc<ProcessStreams>, state: ProcessState) {
        let readers = locked(&self.readers).clone();
        for reader in readers {
            let mut reader = locked(&reader);
            if Arc::ptr_eq(&reader.process, process) {
                reader.empty(state);
            }
        }
        if state == ProcessState::Ended {
            locked(&self.readers).retain(|reader| !Arc::ptr_eq(&locked(reader).process, process));
        }
    }

    /// Sends a notice if a file could not be written. The program continues.
    fn check(&self, stored: Result<(), StoreError>) {
        if let Err(error) = stored {
            (self.notify)(Notice::Unwritten(error));
        }
    }

    /// Runs a worker. At most as many workers are active as there are rings. Otherwise, the
    /// analysis of a ring would move from one processor's cache to another.
    fn work(&self, number: usize) {
        let [shortest, longest] = SLEEP_RANGE;
        let mut pause = shortest;
        let mut readers = Vec::new();
        while self.is_running() {
            if number < locked(&self.readers).len() && self.take_turns(&mut readers) {
                pause = shortest;
                continue;
            }
            // An idle worker must not keep the reader of an ended process alive, because the reader
            // holds a share of the memory.
            readers.clear();
            std::thread::sleep(pause);
            pause = (pause * 2).min(longest);
        }
    }

    /// Gives a turn to the reader of each ring that no other worker reads now. Returns whether any
    /// words were taken. `readers` is a buffer.
    fn take_turns(&self, readers: &mut Vec<Arc<Mutex<RingReader>>>) -> bool {
        readers.clone_from(&locked(&self.readers));
        let mut has_taken = false;
        for reader in readers {
            if let Ok(mut reader) = reader.try_lock() {
                has_taken |= reader.take_turn();
            }
        }
        has_taken
    }
}

impl RingReader {
    fn new(ring: Ring, process: Arc<ProcessStreams>) -> Self {
        let stream = process.ring(ring.tid());
        Self {
            ring,
            process,
            stream,
            words: Vec::new(),
            waiting: 0,
            unchanged_since: Instant::now(),
        }
    }

    /// Takes whole chunks, or all words of an idle ring. Returns whether any words were taken.
    fn take_turn(&mut self) -> bool {
        let waiting = self.ring.waiting_bytes();
        if waiting == 0 {
            self.waiting = 0;
            return false;
        }
        let now = Instant::now();
        if waiting != self.waiting {
            (self.waiting, self.unchanged_since) = (waiting, now);
        }
        let is_idle = now.duration_since(self.unchanged_since) >= IDLE_TIME;
        let last_chunk_end = self.ring.taken().saturating_add(waiting) / CHUNK * CHUNK;
        let whole_chunks = last_chunk_end.saturating_sub(self.ring.taken());
        if whole_chunks > 0 {
            return self.take(whole_chunks.min(MAX_TAKEN));
        }
        (is_idle || self.ring.owner_waits()) && self.take(MAX_TAKEN)
    }

    /// Takes at most `limit` bytes. Returns whether any words were taken.
    fn take(&mut self, limit: u64) -> bool {
        self.words.clear();
        let batch = self.ring.take(limit, &mut self.words);
        self.feed(batch)
    }

    /// Feeds the taken words to the analysis. Returns whether there are any.
    fn feed(&mut self, batch: holloway_rings::Batch) -> bool {
        self.process.recording().count_lost(batch.lost / 4);
        let left_out = self.stream.feed(batch.position, &self.words);
        if left_out > 0 {
            self.ring.leave_out(left_out);
        }
        !self.words.is_empty()
    }

    /// Takes all words that the ring has now.
    fn empty(&mut self, state: ProcessState) {
        let end = self.ring.taken().saturating_add(self.ring.waiting_bytes());
        // Words that the thread appends meanwhile are not taken: if the thread is faster than the
        // analysis, the loop would not end.
        while self.ring.taken() < end {
            let has_taken = match state {
                ProcessState::Running => self.take(MAX_TAKEN),
                ProcessState::Ended => {
                    self.words.clear();
                    let batch = self.ring.take_rest(MAX_TAKEN, &mut self.words);
                    self.feed(batch)
                }
            };
            if !has_taken {
                break;
            }
        }
        self.stream.hand_over();
    }
}
