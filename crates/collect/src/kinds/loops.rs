//! `--collect loops`: sequences of paths over loop iterations, as forests of slabs, all threads of
//! a recording together.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use holloway_abi::{DEFAULT_K, Kind};
use holloway_analysis::loops::{self, Limits, LoopsBuilder, SlabForest};
use holloway_analysis::stream::{StreamCounts, Words};
use holloway_format::ring_counts;
use holloway_format::{
    Count, Damage, Fact, ForestNode, FormatError, FunctionCounts, FunctionForest, ImageMap,
    LoopsHead, LoopsProfile, LoopsStats, PathId, ProcessImage, ProfileHead, RawProfile, read_loops,
    write_loops,
};

use super::single_file::{SingleFile, Sums};
use super::stream_kind::{InlineCounts, RingAnalysis, StreamData};
use crate::image;
use crate::lock::locked;
use crate::memory::{Memory, Share};
use crate::recording::Recording;
use crate::side_files::extension;
use crate::stream_stats::StreamStats;

/// The kind.
pub(super) static LOOPS: SingleFile<Forests> = SingleFile::new();

/// Bytes of a node of a slab forest while it grows, including data that is needed only until the
/// forest is sealed.
const NODE: u64 = 64;

/// The forests of a process.
#[derive(Clone)]
pub(super) struct ProcessForests {
    /// The contents of the file.
    profile: LoopsProfile,
    /// Some functions lack counts of frames that were left early, because words are missing.
    is_closed: bool,
}

/// The forests of the streams that were handed over.
#[derive(Default)]
pub(super) struct Forests {
    forest: Option<SlabForest>,
    counts: StreamCounts,
    /// The forests that an earlier collector stored.
    earlier: Option<LoopsProfile>,
    /// Paths that threads counted inline. They are read when the process has ended, or is looked
    /// at.
    inline: Vec<FunctionCounts>,
    /// Iterations that sequences span, once a ring was started.
    k: Option<u32>,
}

impl Forests {
    /// Iterations that sequences span. All forests of a process span the same number.
    fn k(&mut self, recording: &Recording) -> u32 {
        let earlier = self.earlier.as_ref().map(|earlier| earlier.head.k);
        *self.k.get_or_insert_with(|| {
            let chosen = earlier.or(recording.settings.k);
            let woven = || {
                image::inspect(Path::new(&recording.head.image_path))
                    .ok()?
                    .k
            };
            chosen.or_else(woven).unwrap_or(DEFAULT_K)
        })
    }

    /// Adds a stream's forest and its counts. All forests together have `limits`.
    fn add(&mut self, mut forest: SlabForest, counts: StreamCounts, limits: Limits) {
        forest.limit(limits);
        match &mut self.forest {
            Some(sum) => sum.merge(&forest),
            none => *none = Some(forest),
        }
        self.counts.paths += counts.paths;
        self.counts.holes += counts.holes;
        self.counts.strangers += counts.strangers;
        self.counts.gaps += counts.gaps;
        self.counts.caught += counts.caught;
    }

    /// The forests of the process that `head` describes.
    fn profile(&self, head: &ProfileHead, words: &Words, stats: StreamStats) -> ProcessForests {
        let head = LoopsHead {
            process: ProcessImage::from(head),
            k: 0,
            stats: LoopsStats {
                lost_words: stats.lost,
                cut_streams: stats.cut,
                ..LoopsStats::default()
            },
        };
        let now = self.forest.as_ref();
        let now = now.map(|forest| loops::seal(head.clone(), words, forest, self.counts));
        let mut profile = match (self.earlier.clone(), now) {
            (Some(mut earlier), Some(now)) => {
                join(&mut earlier, now);
                earlier
            }
            (Some(mut earlier), None) => {
                earlier.head.stats.add(&head.stats);
                earlier
            }
            (None, Some(now)) => now,
            (None, None) => LoopsProfile {
                head: LoopsHead {
                    k: DEFAULT_K,
                    ..head
                },
                ..LoopsProfile::default()
            },
        };
        join(&mut profile, counted(&self.inline, words, stats));
        let sums = &profile.head.stats;
        let lacks_words = stats.is_partial() || sums.lost_words > 0 || sums.gaps > 0;
        ProcessForests {
            is_closed: lacks_words && loops::left::close(&mut profile, words),
            profile,
        }
    }
}

impl Sums for Forests {
    const EXTENSION: &'static str = extension(Kind::Loops);
    type Content = ProcessForests;
    type Ring = LoopsRing;

    fn resume(earlier: ProcessForests, recording: &Recording) -> Self {
        let mut earlier = earlier.profile;
        // Known anew, from all that was appended.
        earlier.head.stats.lost_words = 0;
        recording.know(earlier.head.stats.words);
        recording.analyze(earlier.head.stats.words);
        Self {
            earlier: Some(earlier),
            ..Self::default()
        }
    }

    fn ring(recording: Arc<Recording>, words: Words, sums: Arc<Mutex<Self>>) -> LoopsRing {
        let k = locked(&sums).k(&recording);
        LoopsRing {
            growing: Some(Growing::new(&recording, words.clone(), k)),
            open: Activations::Closed,
            recording,
            words,
            sums,
            k,
        }
    }

    fn take_inline_counts(&mut self, raw: &RawProfile<'_>, words: &Words) -> InlineCounts {
        self.inline = ring_counts(raw, words.image());
        match self.inline.is_empty() {
            true => InlineCounts::None,
            false => InlineCounts::Some,
        }
    }

    fn content(&self, head: &ProfileHead, words: &Words, stats: StreamStats) -> ProcessForests {
        self.profile(head, words, stats)
    }

    fn counts(content: &ProcessForests) -> Vec<FunctionCounts> {
        loops::paths(&content.profile).functions
    }

    fn damage(content: &ProcessForests) -> Vec<Damage> {
        let closed = content.is_closed.then_some(Fact::UncountedLeftFrames);
        closed.map(Damage::of_streams).into_iter().collect()
    }

    fn encode(content: &ProcessForests) -> Vec<u8> {
        write_loops(&content.profile)
    }

    fn decode(bytes: &[u8], map: &ImageMap) -> Result<ProcessForests, FormatError> {
        let profile = read_loops(bytes, map)?;
        Ok(ProcessForests {
            profile,
            is_closed: false,
        })
    }

    fn build_id(content: &ProcessForests) -> [u8; 16] {
        content.profile.head.process.build_id
    }

    fn into_data(content: ProcessForests) -> StreamData {
        StreamData::Loops(content.profile)
    }
}

/// The forest of one ring's streams.
pub(super) struct LoopsRing {
    recording: Arc<Recording>,
    words: Words,
    sums: Arc<Mutex<Forests>>,
    k: u32,
    /// None: nothing was fed since the last forest was handed over.
    growing: Option<Growing>,
    /// Activations when the last forest was handed over.
    open: Activations,
}

/// A forest that grows, and its share of the memory.
struct Growing {
    builder: LoopsBuilder,
    share: Share,
}

/// Whether activations were open when a forest was handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Activations {
    /// None was.
    Closed,
    /// Some were: sequences across that point are lost.
    Open,
}

impl Growing {
    fn new(recording: &Recording, words: Words, k: u32) -> Self {
        let memory = &recording.settings.memory;
        let share = memory.share();
        let limits = limits(memory, share.capacity(NODE));
        Self {
            builder: LoopsBuilder::new(words, k, limits),
            share,
        }
    }
}

impl RingAnalysis for LoopsRing {
    fn feed(&mut self, at: u64, words: &[u32]) {
        if self.growing.is_none() && self.open == Activations::Open && !words.is_empty() {
            self.recording.cut();
        }
        let Self {
            recording,
            words: codes,
            k,
            growing,
            ..
        } = self;
        let Growing { builder, share } =
            growing.get_or_insert_with(|| Growing::new(recording, codes.clone(), *k));
        builder.limit(limits(&recording.settings.memory, share.capacity(NODE)));
        builder.feed(at, words);
    }

    fn hand_over(&mut self) {
        let Some(Growing { builder, .. }) = self.growing.take() else {
            return;
        };
        self.open = match builder.open() {
            0 => Activations::Closed,
            _ => Activations::Open,
        };
        let memory = &self.recording.settings.memory;
        let counts = builder.stream_counts();
        let limits = limits(memory, memory.capacity(NODE));
        locked(&self.sums).add(builder.finish(), counts, limits);
    }
}

/// Nodes of a forest: as many as fit if the user chose the memory, else no more than is fast.
fn limits(memory: &Memory, fitting: usize) -> Limits {
    let usual = Limits::default();
    let nodes = match memory.is_chosen() {
        true => fitting,
        false => fitting.min(usual.nodes),
    };
    Limits { nodes }
}

/// The forests of paths that were counted inline, as if they had come as words: activations of one
/// path each. In a sample, the analyzed share of them, so that counts compare. Paths that were left
/// early are roots as well, with the counts of their counters ([`loops::left`]).
fn counted(functions: &[FunctionCounts], words: &Words, stats: StreamStats) -> LoopsProfile {
    let part = u128::from(stats.analyzed);
    let all = part + u128::from(stats.left_out);
    let share = |count: Count| match stats.left_out {
        0 => count,
        _ => Count((u128::from(count) * part / all) as u64),
    };
    let mut made = LoopsProfile::default();
    for function in functions {
        let counts = function.counts.iter();
        let counts = counts.map(|&(path, count)| (path, share(count)));
        let nodes = counts.filter(|&(_, count)| count > Count::ZERO);
        let nodes = nodes.map(|(path, count)| ForestNode {
            depth: 0,
            path: PathId(path),
            count,
        });
        let forest = FunctionForest {
            module: function.module,
            function: function.function,
            hash: function.hash,
            nodes: nodes.collect(),
            dropped: Vec::new(),
        };
        let paths = loops::left::words(words, &forest);
        let sums = &mut made.head.stats;
        sums.words = sums.words.saturating_add(paths);
        sums.slabs = sums.slabs.saturating_add(paths);
        made.head.stats.nodes += forest.nodes.len() as u64;
        if !forest.nodes.is_empty() {
            made.functions.push(forest);
        }
    }
    made
}

/// Adds forests of the same process. A forest may have several roots with the same path, which
/// count together.
fn join(sum: &mut LoopsProfile, more: LoopsProfile) {
    sum.head.stats.add(&more.head.stats);
    sum.damage.extend(more.damage);
    for forest in more.functions {
        let place = sum
            .functions
            .binary_search_by_key(&(forest.module, forest.function), |known| {
                (known.module, known.function)
            });
        match place {
            Err(place) => sum.functions.insert(place, forest),
            Ok(place) => {
                let known = &mut sum.functions[place];
                known.nodes.extend(forest.nodes);
                let mut dropped: BTreeMap<PathId, Count> = BTreeMap::new();
                for (path, count) in known.dropped.drain(..).chain(forest.dropped) {
                    let sum = dropped.entry(path).or_default();
                    *sum = sum.saturating_add(count);
                }
                known.dropped = dropped.into_iter().collect();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use holloway_format::{
        BlockMap, Counters, DagEdgeMap, DagKind, EdgeKind, EdgeMap, FunctionMap, ModuleMap,
        Outcome, PlacedModule, Scope,
    };

    use super::*;

    const RETURNED: u64 = 0;
    const LEFT: u64 = 1;

    /// A function of one block that returns, and may be left in a call if it is to have an exit
    /// edge.
    fn image(has_exits: bool) -> Arc<ImageMap> {
        let edge = |kind, outcome| EdgeMap {
            from: 0,
            to: 1,
            kind,
            outcome,
            place: None,
        };
        let mut edges = vec![edge(EdgeKind::Plain, Outcome::Return)];
        if has_exits {
            edges.push(edge(EdgeKind::Exit, Outcome::Left));
        }
        let dag = (0..edges.len() as u32).map(|number| DagEdgeMap {
            from: 0,
            to: 1,
            kind: DagKind::Edge(number),
            value: number.into(),
        });
        let len = edges.len() as u64;
        let function = FunctionMap {
            counters: Counters::Array { offset: 0, len },
            path_count: len,
            exit: 1,
            blocks: vec![BlockMap::default(); 2],
            dag: dag.collect(),
            edges,
            scopes: vec![Scope::default()],
            ..FunctionMap::default()
        };
        let module = ModuleMap {
            counters_size: 8 * len,
            functions: vec![function],
            ..ModuleMap::default()
        };
        Arc::new(ImageMap {
            modules: vec![PlacedModule { base: 0, module }],
            ..ImageMap::default()
        })
    }

    /// The roots of a process in which the function's paths were counted so often, with gaps in its
    /// streams, and whether frames were left out of it.
    fn counted(
        has_exits: bool,
        counts: &[(u64, u64)],
        gaps: u64,
        stats: StreamStats,
    ) -> (Vec<(u64, u64)>, bool) {
        let map = image(has_exits);
        let inline = FunctionCounts {
            module: 0,
            function: 0,
            hash: 0,
            counts: counts
                .iter()
                .map(|&(path, count)| (path, Count(count)))
                .collect(),
        };
        let mut earlier = LoopsProfile::default();
        earlier.head.stats.gaps = gaps;
        let forests = Forests {
            earlier: Some(earlier),
            inline: vec![inline],
            ..Forests::default()
        };
        let made = forests.profile(&ProfileHead::default(), &Words::new(&map), stats);
        let nodes = made
            .profile
            .functions
            .iter()
            .flat_map(|function| &function.nodes);
        (
            nodes.map(|node| (node.path.0, node.count.0)).collect(),
            made.is_closed,
        )
    }

    /// Frames go uncounted wherever words are missing, and only there is that a fact to tell.
    #[test]
    fn frames_that_go_uncounted_are_a_fact() {
        let (all, part) = (
            StreamStats::default(),
            StreamStats {
                analyzed: 1,
                left_out: 1,
                ..StreamStats::default()
            },
        );
        let both = [(RETURNED, 6), (LEFT, 2)];
        let (roots, is_closed) = counted(true, &both, 0, all);
        assert!(roots.contains(&(LEFT, 2)) && !is_closed, "{roots:?}");
        for (gaps, stats) in [(1, all), (0, part)] {
            let (roots, is_closed) = counted(true, &both, gaps, stats);
            let count = |path| roots.iter().find(|root| root.0 == path).map(|root| root.1);
            assert_eq!(count(LEFT), count(RETURNED), "all came back: {roots:?}");
            assert!(is_closed);
            assert!(!counted(false, &both[..1], gaps, stats).1);
        }
    }
}
