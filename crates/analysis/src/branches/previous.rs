//! How often sequences of paths ran in one activation: the context that loops and traces add to a
//! branch.
//!
//! Loops have these counts in their path forests ([`Kipf`](crate::loops::Kipf)). For a trace, they
//! are counted on its grammar ([`loops`]). Either is limited to [`MAX_SEQUENCES`]: of a function
//! with more sequences, only shorter sequences are used.
//!
//! Cost: as the path forest of each function, or of each trace.

use std::collections::{BTreeMap, HashMap};

use holloway_flow::PathId;
use holloway_format::{Count, ImageMap};

use crate::loops::{LoopsRun, Sequences};
use crate::run::{FunctionId, RunProfile};
use crate::trace::code::Code;
use crate::trace::grams::Grams;
use crate::trace::loops::loops;
use crate::trace::{Terminal, Trace};

/// Maximum number of previous paths that are a context.
pub const MAX_PREVIOUS: u32 = 7;

/// Maximum number of sequences of a function, and of a trace. They take about a hundred megabytes.
const MAX_SEQUENCES: usize = 1 << 20;

/// A function of an image, in any run of the image: the image's build id, the module's index in the
/// image, and the offset of the function's counters in the module.
type Key = ([u8; 16], u32, u64);

/// How often sequences of paths ran in one activation, by function.
#[derive(Debug, Default)]
pub struct PreviousPaths(HashMap<Key, SequenceCounts>);

/// How often sequences of paths of one function ran in one activation.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SequenceCounts {
    /// The counts of the sequences of two paths, of three paths, and so on.
    pub(super) by_length: Vec<BTreeMap<Vec<PathId>, Count>>,
}

impl SequenceCounts {
    /// The sequences of two paths, with their counts.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&Vec<PathId>, &Count)> {
        self.by_length.first().into_iter().flatten()
    }

    /// The sequences of two paths, of three paths, and so on, with their counts.
    pub(crate) fn by_length(&self) -> impl Iterator<Item = &BTreeMap<Vec<PathId>, Count>> {
        self.by_length.iter()
    }

    /// Adds executions of a sequence of two or more paths.
    pub fn add(&mut self, sequence: Vec<PathId>, count: Count) {
        let Some(index) = sequence.len().checked_sub(2) else {
            return;
        };
        if self.by_length.len() <= index {
            self.by_length.resize_with(index + 1, BTreeMap::new);
        }
        let sum = self.by_length[index].entry(sequence).or_default();
        *sum = sum.saturating_add(count);
    }
}

impl PreviousPaths {
    /// Adds the sequences of a run that collected loops.
    pub fn add_loops(&mut self, loops: &LoopsRun) {
        let keys = keys(&loops.run);
        for sequences in &loops.functions {
            let counts = self.0.entry(keys[sequences.id.index()]).or_default();
            add_sequences(counts, sequences);
        }
    }

    /// Adds the sequences of a thread's trace of an image.
    pub fn add_trace(&mut self, map: &ImageMap, trace: &Trace) {
        let code = Code::new(map);
        let events = code.events(&trace.terminals);
        let lengths = (2..=MAX_PREVIOUS as usize + 1).rev();
        let mut grams =
            lengths.filter_map(|length| loops(&trace.grammar, &events, length, MAX_SEQUENCES).ok());
        if let Some(grams) = grams.next() {
            let modules = (0u32..).zip(&map.modules);
            let functions = modules.flat_map(|(module, placed)| {
                let functions = placed.module.functions.iter();
                functions.map(move |map| (module, map.counters.offset()))
            });
            let keys = functions.map(|(module, offset)| (map.build_id, module, offset));
            self.add_grams(&keys.collect::<Vec<Key>>(), trace, &grams);
        }
    }

    fn add_grams(&mut self, keys: &[Key], trace: &Trace, grams: &Grams) {
        for (id, gram) in grams.nodes().filter(|(_, gram)| gram.length >= 2) {
            let symbols = grams.symbols(id);
            let paths = symbols
                .iter()
                .map(|&terminal| match trace.terminals[terminal as usize] {
                    Terminal::Path { function, path } => Some((function, PathId(path.into()))),
                    Terminal::Left(_) | Terminal::Gap => None,
                });
            let Some(paths) = paths.collect::<Option<Vec<(u32, PathId)>>>() else {
                continue;
            };
            if let Some(&key) = keys.get(paths[0].0 as usize) {
                let sequence = paths.into_iter().map(|(_, path)| path).collect();
                let counts = self.0.entry(key).or_default();
                counts.add(sequence, gram.count);
            }
        }
    }

    /// The sequences of the functions of a run.
    pub(crate) fn of_run(&self, run: &RunProfile) -> HashMap<FunctionId, &SequenceCounts> {
        let ids = (0u32..).map(FunctionId).zip(keys(run));
        ids.filter_map(|(id, key)| Some((id, self.0.get(&key)?)))
            .collect()
    }
}

/// By function of a run: its key.
fn keys(run: &RunProfile) -> Vec<Key> {
    // By image: its first module.
    let mut first_modules = vec![u32::MAX; run.images.len()];
    for (number, module) in (0u32..).zip(&run.modules) {
        let first = &mut first_modules[module.image.index()];
        *first = number.min(*first);
    }
    let functions = run.functions.iter().map(|function| {
        let image = run.module_of(function).image.index();
        let module = function.module.0 - first_modules[image];
        let build_id = run.images[image].build_id;
        (build_id, module, function.map.counters.offset())
    });
    functions.collect()
}

/// Adds the sequences of the longest path forest within the limit. The forests have up to 2, 4, or
/// 8 paths. The attempts that exceed the limit take little more time than the forest that fits.
fn add_sequences(counts: &mut SequenceCounts, sequences: &Sequences) {
    let mut fitting = None;
    for previous in [1, 3, MAX_PREVIOUS] {
        let forest = sequences.kipf(previous + 1, Count(1));
        if forest.nodes().len() > MAX_SEQUENCES {
            break;
        }
        fitting = Some(forest);
    }
    let Some(forest) = fitting else { return };
    for (number, node) in (0u32..).zip(forest.nodes()) {
        if node.level >= 2 {
            let sequence = forest.sequence(number).into_iter();
            let sequence = sequence.map(|path| PathId(path.into())).collect();
            counts.add(sequence, node.count);
        }
    }
}
