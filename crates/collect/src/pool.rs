//! Workers that take words out of rings and feed them to the analysis.
//!
//! A ring has one worker at a time. There are as many workers as processors, and no more of them
//! work than there are rings.
//!
//! A busy thread's ring is emptied in whole chunks, so that the thread keeps the cache line that it
//! writes to next. Less than a chunk is taken when no more words came for a while, or when the
//! owner waits.

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
use crate::path_map::{keep_map, kept_map};
use crate::process_streams::ProcessStreams;
use crate::ring_stream::RingStream;
use crate::settings::Settings;
use crate::watch::{News, Watch};

/// How long a ring's last words may wait.
const IDLE: Duration = Duration::from_millis(3);
/// Bytes that are taken at once, at most.
const MOST: u64 = 4 * CHUNK;
/// Shortest and longest sleep of an idle worker. A busy thread fills its ring in some milliseconds.
const SLEEP: [Duration; 2] = [Duration::from_micros(100), Duration::from_millis(2)];

/// Rings are being emptied.
const RUNS: u8 = 0;
/// The collector ends, and so do the workers.
const ENDS: u8 = 1;

/// The collector of a run; its threads end when it is dropped.
pub struct Collector {
    shared: Arc<Shared>,
    watcher: Option<JoinHandle<()>>,
}

struct Shared {
    directory: PathBuf,
    settings: Settings,
    phase: AtomicU8,
    watch: Mutex<Watch>,
    taps: Mutex<Vec<Arc<Mutex<Tap>>>>,
    processes: Mutex<HashMap<PathBuf, Arc<ProcessStreams>>>,
    /// Processes that are gone, to be sealed. The sealing thread holds `seals`.
    ended: Mutex<VecDeque<Arc<ProcessStreams>>>,
    seals: Mutex<()>,
    /// By build id. None: there is no path map.
    words: Mutex<HashMap<[u8; 16], Option<Words>>>,
    notify: Notify,
}

/// Whether a look waits for the time to ask which processes have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Interval {
    Kept,
    Skipped,
}

/// Whether the process of a ring still runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Runs,
    VanishedFunction,
}

/// A ring that is being emptied.
struct Tap {
    ring: Ring,
    process: Arc<ProcessStreams>,
    stream: RingStream,
    words: Vec<u32>,
    /// Bytes that waited at the last look, and since when their number is the same.
    seen: u64,
    since: Instant,
}

impl Collector {
    /// Starts to watch a run's directory.
    ///
    /// # Errors
    /// No thread can be started.
    pub(crate) fn start(
        directory: &Path,
        settings: Settings,
        notify: Notify,
    ) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            directory: directory.to_owned(),
            settings,
            phase: AtomicU8::new(RUNS),
            watch: Mutex::new(Watch::new(directory, notify)),
            taps: Mutex::default(),
            processes: Mutex::default(),
            ended: Mutex::default(),
            seals: Mutex::default(),
            words: Mutex::default(),
            notify,
        });
        let watched = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("collector".to_owned());
        let watcher = thread.spawn(move || watched.watch())?;
        Ok(Self {
            shared,
            watcher: Some(watcher),
        })
    }

    /// The program has ended: takes its last words, and stores the results so far of processes that
    /// run on.
    pub(crate) fn drain(&self) {
        self.shared.look(Interval::Skipped);
        self.shared.seal();
        for (_, process) in self.shared.running_processes() {
            self.shared.empty(&process, Owner::Runs);
            self.shared.check(process.keep());
        }
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.shared.phase.store(ENDS, Ordering::SeqCst);
        if let Some(watcher) = self.watcher.take() {
            watcher.thread().unpark();
            // A panic has printed its message.
            watcher.join().ok();
        }
        self.drain();
        for (_, process) in self.shared.running_processes() {
            self.shared.check(process.close());
        }
    }
}

impl Shared {
    fn runs(&self) -> bool {
        self.phase.load(Ordering::SeqCst) == RUNS
    }

    /// The thread that looks for rings. Workers come with the first ring.
    fn watch(&self) {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            let mut workers = 0;
            while self.runs() {
                let pause = self.look(Interval::Kept);
                if workers == 0 && self.turns(&mut Vec::new()) {
                    for _ in 0..processors {
                        let number = workers;
                        let thread = std::thread::Builder::new().name(format!("worker {number}"));
                        let spawned = thread.spawn_scoped(scope, move || self.work(number));
                        workers += usize::from(spawned.is_ok());
                    }
                }
                if !locked(&self.ended).is_empty() && self.seals.try_lock().is_ok() {
                    let thread = std::thread::Builder::new().name("sealer".to_owned());
                    // If the thread cannot be started, the work is done when the program has ended.
                    thread.spawn_scoped(scope, || self.seal()).ok();
                }
                std::thread::park_timeout(pause);
            }
        });
    }

    /// Looks for new rings and for processes that are gone. Gives how long to wait before the next
    /// look.
    fn look(&self, interval: Interval) -> Duration {
        let mut ended = Vec::new();
        let tell = |news: News<'_>| match news {
            News::Ring(path, file, ring) => {
                let mut processes = locked(&self.processes);
                let process = processes
                    .entry(path.to_owned())
                    .or_insert_with(|| Arc::new(self.process(path, file)));
                let tap = Tap::new(ring, Arc::clone(process));
                locked(&self.taps).push(Arc::new(Mutex::new(tap)));
            }
            News::Ended(path) => ended.push(path.to_owned()),
        };
        let mut watch = locked(&self.watch);
        let pause = match interval {
            Interval::Kept => watch.look(tell),
            Interval::Skipped => watch.look_now(tell),
        };
        for path in ended {
            let process = locked(&self.processes).remove(&path);
            locked(&self.ended).extend(process);
        }
        pause
    }

    /// Seals the processes that have ended, one after the other. Sealing takes long for long
    /// streams; other threads find and empty rings meanwhile.
    fn seal(&self) {
        let _alone = locked(&self.seals);
        loop {
            let next = locked(&self.ended).pop_front();
            let Some(process) = next else { break };
            self.empty(&process, Owner::VanishedFunction);
            self.check(process.seal());
        }
    }

    fn process(&self, path: &Path, file: &RingFile) -> ProcessStreams {
        let head = &file.head().profile;
        let mut known = locked(&self.words);
        let words = known.entry(head.build_id).or_insert_with(|| {
            if let Err(error) = keep_map(&self.directory, head, &self.settings.maps) {
                (self.notify)(Notice::Unwritten(error));
            }
            kept_map(&self.directory, head).map(|map| Words::new(&Arc::new(map)))
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

    /// Takes all words that are left in the rings of a process. The rings of a process that is gone
    /// are dropped.
    fn empty(&self, process: &Arc<ProcessStreams>, owner: Owner) {
        for tap in self.taps_now() {
            let mut tap = locked(&tap);
            if Arc::ptr_eq(&tap.process, process) {
                tap.empty(owner);
            }
        }
        if owner == Owner::VanishedFunction {
            locked(&self.taps).retain(|tap| !Arc::ptr_eq(&locked(tap).process, process));
        }
    }

    /// Tells that a file could not be written. The program goes on.
    fn check(&self, stored: Result<(), StoreError>) {
        if let Err(error) = stored {
            (self.notify)(Notice::Unwritten(error));
        }
    }

    fn taps_now(&self) -> Vec<Arc<Mutex<Tap>>> {
        locked(&self.taps).clone()
    }

    /// A worker. No more workers work than there are rings: with more, the analysis of a ring would
    /// move from one processor's cache to another's.
    fn work(&self, number: usize) {
        let [least, longest] = SLEEP;
        let mut pause = least;
        let mut taps = Vec::new();
        while self.runs() {
            if number < locked(&self.taps).len() && self.turns(&mut taps) {
                pause = least;
                continue;
            }
            // A ring's analysis must not outlive its process here: it holds a share of the memory.
            taps.clear();
            std::thread::sleep(pause);
            pause = (pause * 2).min(longest);
        }
    }

    /// Gives each ring that no other worker holds a turn. Tells whether any words were taken.
    fn turns(&self, taps: &mut Vec<Arc<Mutex<Tap>>>) -> bool {
        taps.clone_from(&locked(&self.taps));
        let mut took = false;
        for tap in taps {
            if let Ok(mut tap) = tap.try_lock() {
                took |= tap.turn();
            }
        }
        took
    }
}

impl Tap {
    fn new(ring: Ring, process: Arc<ProcessStreams>) -> Self {
        let stream = process.ring(ring.tid());
        Self {
            ring,
            process,
            stream,
            words: Vec::new(),
            seen: 0,
            since: Instant::now(),
        }
    }

    /// Takes some words if it is time. Tells whether it took any.
    fn turn(&mut self) -> bool {
        let waiting = self.ring.waiting_bytes();
        if waiting == 0 {
            self.seen = 0;
            return false;
        }
        let now = Instant::now();
        if waiting != self.seen {
            (self.seen, self.since) = (waiting, now);
        }
        let is_idle = now.duration_since(self.since) >= IDLE;
        let whole_chunks = self.ring.taken().saturating_add(waiting) / CHUNK * CHUNK;
        let most = whole_chunks.saturating_sub(self.ring.taken()).min(MOST);
        if most > 0 {
            return self.take(most);
        }
        (is_idle || self.ring.owner_waits()) && self.take(MOST)
    }

    fn take(&mut self, most: u64) -> bool {
        self.words.clear();
        let batch = self.ring.take(most, &mut self.words);
        self.feed(batch)
    }

    fn feed(&mut self, batch: holloway_rings::Batch) -> bool {
        self.process.recording().lose(batch.lost / 4);
        let left_out = self.stream.feed(batch.at, &self.words);
        if left_out > 0 {
            self.ring.leave_out(left_out);
        }
        !self.words.is_empty()
    }

    /// Takes all words that the ring has now.
    fn empty(&mut self, owner: Owner) {
        let end = self.ring.taken().saturating_add(self.ring.waiting_bytes());
        // Words that come meanwhile are left for later: the thread may be faster.
        while self.ring.taken() < end {
            let took = match owner {
                Owner::Runs => self.take(MOST),
                Owner::VanishedFunction => {
                    self.words.clear();
                    let batch = self.ring.take_rest(MOST, &mut self.words);
                    self.feed(batch)
                }
            };
            if !took {
                break;
            }
        }
        self.stream.hand_over();
    }
}
