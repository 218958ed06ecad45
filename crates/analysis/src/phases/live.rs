//! The hot spot detector on the words of a running program.
//!
//! A detector that runs on a trace sees the branches of the grammar. [`LiveDetector`] sees the same
//! branches while the words arrive: each word of a path stands for the path's branches. They are
//! looked up when the word first occurs. All branches of the image have their site from the start,
//! because later paths may run any of them.
//!
//! The result equals that of [`HotSpotDetector`] on the finished trace of the same words, except
//! for the numbers of the branches. The ring of a thread that ended may go to another thread: then
//! a new detector starts.
//!
//! Cost: the detector, and a load for each path. Memory is bounded: 8 bytes of address space for
//! each possible word, as for [`Words`], a table of at most [`MAX_TABLE`] branches and those of one
//! path, and the detector's tables, whose size depends on the branches of the image.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

use holloway_flow::PathId;
use holloway_format::Count;

use super::hot_spots::{HotSpotDetector, HotSpots, ModeChange};
use super::monitor::HotSpotId;
use super::parameters::{Parameters, ParametersError};
use crate::block_addresses::AddressLookup;
use crate::branch_stream::{BranchEvent, BranchSet, BranchSite, ImageBranches, MAX_TABLE};
use crate::stream::{Activations, EndedPath, Listener, Words};

/// A transition that the detector found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LiveTransition {
    /// The thread.
    pub thread: u32,
    /// Number of branches that the thread had executed.
    pub at: Count,
    /// The transition.
    pub change: LiveChange,
}

/// What a transition leads to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LiveChange {
    /// A new hot spot, with its functions.
    Detected(HotSpotId, Vec<HotFunction>),
    /// A known hot spot, with its functions.
    Entered(HotSpotId, Vec<HotFunction>),
    /// Control left the known hot spots.
    Left,
    /// Control came back to the known hot spots, before a new one was found.
    Returned,
}

/// The code of a hot spot in a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HotFunction {
    /// The function, by its number in [`Code`](crate::trace::code::Code).
    pub function: u32,
    /// The hot blocks: those of the hot branches on the paths that ran so far.
    pub blocks: BTreeSet<u32>,
    /// Executions of the function's branches that the buffer counted before the detection.
    pub executed: u64,
}

/// The detector on the words of one ring.
pub struct LiveDetector {
    parameters: Parameters,
    words: Words,
    activations: Activations<()>,
    branches: ImageBranches,
    sites: Arc<[BranchSite]>,
    paths: PathTable,
    /// By branch: the blocks whose instructions belong to it on the paths that ran so far.
    blocks: HashMap<u32, BTreeSet<u32>>,
    thread: u32,
    detector: HotSpotDetector,
    /// Numbers of the detector's changes and entries that were reported.
    reported: (usize, usize),
    transitions: Vec<LiveTransition>,
}

/// The branches of the paths that ran.
struct PathTable {
    events: Vec<BranchEvent>,
    /// By word: the branches in `events`, as start and end + 1. 0 and 0 if the path is not in the
    /// table.
    ranges: Vec<(u32, u32)>,
    /// The words in the table.
    known: Vec<u32>,
}

/// Collects the words of a batch.
struct Collector {
    /// The words of paths.
    paths: Vec<u32>,
    /// The next threads: number of paths before the change, and thread.
    owners: Vec<(usize, u32)>,
}

impl Listener for Collector {
    type State = ();

    #[inline]
    fn path_ended(&mut self, path: EndedPath, (): &mut ()) {
        self.paths.push(path.word);
    }

    fn new_owner(&mut self, thread: u32, _activations: u64) {
        self.owners.push((self.paths.len(), thread));
    }
}

impl LiveDetector {
    /// A detector for the words of a ring whose first owner is `thread`.
    ///
    /// # Errors
    /// If the parameters make no detector.
    pub fn new(
        words: Words,
        addresses: &AddressLookup,
        parameters: Parameters,
        thread: u32,
    ) -> Result<LiveDetector, ParametersError> {
        let branches = ImageBranches::new(words.image(), addresses, BranchSet::Choices);
        let sites: Arc<[BranchSite]> = branches.sites().into();
        Ok(LiveDetector {
            parameters,
            activations: Activations::default(),
            branches,
            paths: PathTable::new(words.end()),
            words,
            blocks: HashMap::new(),
            thread,
            detector: HotSpotDetector::new(parameters, Arc::clone(&sites))?,
            sites,
            reported: (0, 0),
            transitions: Vec::new(),
        })
    }

    /// Feeds words. `position` is the position of the first word in the stream, in bytes.
    pub fn feed(&mut self, position: u64, words: &[u32]) {
        let mut collector = Collector {
            paths: Vec::with_capacity(words.len()),
            owners: Vec::new(),
        };
        self.activations
            .feed(&mut self.words, &mut collector, position, words);
        let mut done = 0;
        for (end, thread) in collector.owners {
            self.execute(&collector.paths[done..end]);
            self.start_thread(thread);
            done = end;
        }
        self.execute(&collector.paths[done..]);
    }

    /// The transitions since the last call.
    pub fn take(&mut self) -> Vec<LiveTransition> {
        std::mem::take(&mut self.transitions)
    }

    /// The sites of all branches of the image.
    pub fn sites(&self) -> &[BranchSite] {
        &self.sites
    }

    /// The result for the current thread so far.
    pub fn result(&self) -> &HotSpots {
        self.detector.result()
    }

    fn execute(&mut self, words: &[u32]) {
        for &word in words {
            let range = match self.paths.range(word) {
                Some(range) => range,
                None => self.learn(word),
            };
            self.detector.feed(&self.paths.events[range]);
        }
        self.report();
    }

    /// Adds the path of a word to the table.
    fn learn(&mut self, word: u32) -> Range<usize> {
        let mut branches = Vec::new();
        if let Some(meaning) = self.words.word(word) {
            let index = self.words.function(meaning.function).index;
            let function = self.branches.number(index);
            let PathId(path) = meaning.path;
            let graph = self.words.graph(index);
            if let Some(path) = graph.and_then(|graph| graph.path(PathId(path))) {
                branches = self.branches.on_path(function, &path);
            }
        }
        for (event, blocks) in &branches {
            self.blocks
                .entry(event.branch.0)
                .or_default()
                .extend(blocks);
        }
        self.paths
            .add(word, branches.into_iter().map(|(event, _)| event))
    }

    fn start_thread(&mut self, thread: u32) {
        self.thread = thread;
        self.reported = (0, 0);
        self.detector = HotSpotDetector::new(self.parameters, Arc::clone(&self.sites))
            .expect("the parameters made a detector before");
    }

    /// Reports the new changes and entries of the detector, in order.
    fn report(&mut self) {
        let result = self.detector.result();
        let changes = &result.changes[self.reported.0..];
        let entered = &result.entered[self.reported.1..];
        if changes.is_empty() && entered.is_empty() {
            return;
        }
        let changes = changes.iter().map(|&(at, change)| {
            let change = match change {
                ModeChange::Detected(id) => LiveChange::Detected(id, self.functions(id)),
                ModeChange::Left => LiveChange::Left,
                ModeChange::Returned => LiveChange::Returned,
            };
            (at, change)
        });
        let entered = entered
            .iter()
            .map(|&(at, id)| (at, LiveChange::Entered(id, self.functions(id))));
        let mut new: Vec<(Count, LiveChange)> = changes.chain(entered).collect();
        new.sort_by_key(|&(at, _)| at);
        self.reported = (result.changes.len(), result.entered.len());
        let thread = self.thread;
        let new = new.into_iter();
        self.transitions
            .extend(new.map(|(at, change)| LiveTransition { thread, at, change }));
    }

    /// The functions of a hot spot, most executions first.
    fn functions(&self, id: HotSpotId) -> Vec<HotFunction> {
        let hot_spot = &self.detector.result().hot_spots[id.index()];
        let mut functions: Vec<HotFunction> = Vec::new();
        for hot in &hot_spot.branches {
            let number = self.sites[hot.branch.index()].function;
            let position = functions.iter().position(|known| known.function == number);
            let position = position.unwrap_or_else(|| {
                functions.push(HotFunction {
                    function: number,
                    blocks: BTreeSet::new(),
                    executed: 0,
                });
                functions.len() - 1
            });
            let function = &mut functions[position];
            function.executed += u64::from(hot.executed);
            function
                .blocks
                .extend(self.blocks.get(&hot.branch.0).into_iter().flatten());
        }
        functions.sort_by_key(|function| std::cmp::Reverse(function.executed));
        functions
    }
}

impl PathTable {
    fn new(words: u32) -> PathTable {
        PathTable {
            events: Vec::new(),
            ranges: vec![(0, 0); words as usize],
            known: Vec::new(),
        }
    }

    #[inline]
    fn range(&self, word: u32) -> Option<Range<usize>> {
        let (start, end) = self.ranges[word as usize];
        let end = end.checked_sub(1)?;
        Some(start as usize..end as usize)
    }

    /// Adds a path. Forgets all others if the table is full.
    fn add(&mut self, word: u32, branches: impl Iterator<Item = BranchEvent>) -> Range<usize> {
        if self.events.len() >= MAX_TABLE || self.known.len() >= MAX_TABLE {
            self.events.clear();
            for word in self.known.drain(..) {
                self.ranges[word as usize] = (0, 0);
            }
        }
        let start = self.events.len();
        self.events.extend(branches);
        let end = self.events.len();
        self.ranges[word as usize] = (start as u32, end as u32 + 1);
        self.known.push(word);
        start..end
    }
}
