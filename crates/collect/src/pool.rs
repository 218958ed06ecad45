//! Workers that take words out of rings and feed them to the analysis. A ring has one worker at a time; there are as many as
//! processors, and no more of them work than there are rings.
//!
//! A busy thread's ring is emptied in whole chunks: the line of memory that the thread writes to next is left to it. What is less
//! is taken when nothing more has come for a while, or when the owner waits.

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
use crate::path_map::keep_map;
use crate::process_streams::ProcessStreams;
use crate::ring_stream::RingStream;
use crate::settings::Settings;
use crate::watch::{News, Watch};

/// How long a ring's last words may lie there.
const IDLE: Duration = Duration::from_millis(3);
/// Most that is taken at once.
const MOST: u64 = 4 * CHUNK;
/// Shortest and longest sleep of a worker that finds nothing to do. A ring is full after some milliseconds, if its thread does nothing else.
const SLEEP: [Duration; 2] = [Duration::from_micros(100), Duration::from_millis(2)];

/// Rings are being emptied.
const RUNS: u8 = 0;
/// No process is left that is waited for: workers end.
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
    /// Of processes that are gone, to be sealed; who does it holds `seals`.
    ended: Mutex<VecDeque<Arc<ProcessStreams>>>,
    seals: Mutex<()>,
    /// By build id; none where there is no map.
    words: Mutex<HashMap<[u8; 16], Option<Words>>>,
    notify: Notify,
}

/// A ring that is being emptied.
struct Tap {
    ring: Ring,
    process: Arc<ProcessStreams>,
    stream: RingStream,
    words: Vec<u32>,
    /// Bytes that waited when it was last looked at, and since when they are no more.
    seen: u64,
    since: Instant,
}

impl Collector {
    /// Starts to look into a run's directory.
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

    /// The program has ended: takes what is left of it, and writes down what there is of processes that go on.
    pub(crate) fn drain(&self) {
        self.shared.look(true);
        self.shared.seal();
        for (_, process) in self.shared.running_processes() {
            self.shared.empty(&process, false);
            self.shared.check(process.keep());
        }
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.shared.phase.store(ENDS, Ordering::SeqCst);
        if let Some(watcher) = self.watcher.take() {
            watcher.thread().unpark();
            // One that panicked has said so.
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
                let pause = self.look(false);
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
                    // Where there can be none, it is done when the program has ended.
                    thread.spawn_scoped(scope, || self.seal()).ok();
                }
                std::thread::park_timeout(pause);
            }
        });
    }

    /// Takes in what has come, and ends what is gone.
    fn look(&self, now: bool) -> Duration {
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
        let pause = if now {
            watch.look_now(tell);
            Duration::ZERO
        } else {
            watch.look(tell)
        };
        for path in ended {
            let process = locked(&self.processes).remove(&path);
            locked(&self.ended).extend(process);
        }
        pause
    }

    /// Seals what has ended, one after the other: it takes as long as there is much of it, and others find their rings meanwhile.
    fn seal(&self) {
        let _one = locked(&self.seals);
        loop {
            let next = locked(&self.ended).pop_front();
            let Some(process) = next else { break };
            self.empty(&process, true);
            self.check(process.seal());
        }
    }

    fn process(&self, path: &Path, file: &RingFile) -> ProcessStreams {
        let head = &file.head().profile;
        let mut known = locked(&self.words);
        let words = known.entry(head.build_id).or_insert_with(|| {
            let linked = self.settings.linked.as_deref();
            let map = keep_map(&self.directory, head, linked);
            let map = map.unwrap_or_else(|error| {
                (self.notify)(Notice::Unwritten(error));
                None
            });
            map.map(|map| Words::new(&Arc::new(map)))
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

    /// Takes all that is left in the rings of a process; of one that is gone they are not looked at again.
    fn empty(&self, process: &Arc<ProcessStreams>, is_gone: bool) {
        for tap in self.taps_now() {
            let mut tap = locked(&tap);
            if Arc::ptr_eq(&tap.process, process) {
                tap.empty(is_gone);
            }
        }
        if is_gone {
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

    /// A worker. No more of them work than there are rings: what is made of a ring would go from one processor's cache to the other's.
    fn work(&self, number: usize) {
        let [least, longest] = SLEEP;
        let mut pause = least;
        let mut taps = Vec::new();
        while self.runs() {
            if number < locked(&self.taps).len() && self.turns(&mut taps) {
                pause = least;
                continue;
            }
            // What is made of a ring goes, with its memory, when its process has: nobody keeps it meanwhile.
            taps.clear();
            std::thread::sleep(pause);
            pause = (pause * 2).min(longest);
        }
    }

    /// A turn for each ring that no other worker has; whether anything was taken.
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

    /// Takes some words if it is time; whether it took any.
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

    /// Takes all that is there now.
    fn empty(&mut self, is_gone: bool) {
        let end = self.ring.taken().saturating_add(self.ring.waiting_bytes());
        // What a thread that runs appends meanwhile is left for later: it may be faster.
        while self.ring.taken() < end {
            let took = if is_gone {
                self.words.clear();
                let batch = self.ring.take_rest(MOST, &mut self.words);
                self.feed(batch)
            } else {
                self.take(MOST)
            };
            if !took {
                break;
            }
        }
        self.stream.hand_over();
    }
}
