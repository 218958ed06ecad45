//! The kind `--collect loops`: counts sequences of paths over loop iterations in slab forests. The
//! forests of all threads of a recording are merged.

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

/// The implementation of the kind.
pub(super) static LOOPS: SingleFile<Forests> = SingleFile::new();

/// Bytes of a node in a growing slab forest, including data that is needed only until the forest is
/// sealed.
const NODE_BYTES: u64 = 64;

/// The forests of a process, ready to be stored.
#[derive(Clone)]
pub(super) struct ProcessForests {
    /// The content of the file.
    profile: LoopsProfile,
    /// Whether some functions lack counts of frames that were left in a call, because words are
    /// missing.
    lacks_left_frames: bool,
}

/// The merged forests of a recording.
#[derive(Default)]
pub(super) struct Forests {
    forest: Option<SlabForest>,
    counts: StreamCounts,
    /// The forests in the file of an earlier collector.
    earlier: Option<LoopsProfile>,
    /// The inline counts. They are read when the process has ended, or when a raw profile is
    /// loaded.
    inline: Vec<FunctionCounts>,
    /// K: the number of consecutive iterations in a sequence. Set with the first ring.
    k: Option<u32>,
}

impl Forests {
    /// Returns K, which is the same for all forests of a process.
    fn k(&mut self, recording: &Recording) -> u32 {
        let earlier = self.earlier.as_ref().map(|earlier| earlier.head.k);
        *self.k.get_or_insert_with(|| {
            let chosen = earlier.or(recording.settings.k);
            let in_image = || {
                image::inspect(Path::new(&recording.head.image_path))
                    .ok()?
                    .k
            };
            chosen.or_else(in_image).unwrap_or(DEFAULT_K)
        })
    }

    /// Adds a ring's forest and its counts. The merged forest is limited by `limits`.
    fn add(&mut self, mut forest: SlabForest, counts: StreamCounts, limits: Limits) {
        forest.set_limits(limits);
        match &mut self.forest {
            Some(sum) => sum.merge(&forest),
            empty => *empty = Some(forest),
        }
        self.counts.paths += counts.paths;
        self.counts.holes += counts.holes;
        self.counts.strangers += counts.strangers;
        self.counts.gaps += counts.gaps;
        self.counts.caught += counts.caught;
    }

    /// Joins all forests of the process that `head` describes.
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
        let forest = self.forest.as_ref();
        let new = forest.map(|forest| loops::seal(head.clone(), words, forest, self.counts));
        let mut profile = match (self.earlier.clone(), new) {
            (Some(mut earlier), Some(new)) => {
                join(&mut earlier, new);
                earlier
            }
            (Some(mut earlier), None) => {
                earlier.head.stats.add(&head.stats);
                earlier
            }
            (None, Some(new)) => new,
            (None, None) => LoopsProfile {
                head: LoopsHead {
                    k: DEFAULT_K,
                    ..head
                },
                ..LoopsProfile::default()
            },
        };
        join(&mut profile, inline_forests(&self.inline, words, stats));
        let sums = &profile.head.stats;
        let lacks_words = stats.is_partial() || sums.lost_words > 0 || sums.gaps > 0;
        ProcessForests {
            lacks_left_frames: lacks_words && loops::left::close(&mut profile, words),
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
        // The losses are computed again, from the number of all appended words.
        earlier.head.stats.lost_words = 0;
        recording.count_known(earlier.head.stats.words);
        recording.count_analyzed(earlier.head.stats.words);
        Self {
            earlier: Some(earlier),
            ..Self::default()
        }
    }

    fn ring(recording: Arc<Recording>, words: Words, sums: Arc<Mutex<Self>>) -> LoopsRing {
        let k = locked(&sums).k(&recording);
        LoopsRing {
            growing: Some(GrowingForest::new(&recording, words.clone(), k)),
            activations: Activations::Closed,
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
        let fact = content
            .lacks_left_frames
            .then_some(Fact::UncountedLeftFrames);
        fact.map(Damage::of_streams).into_iter().collect()
    }

    fn encode(content: &ProcessForests) -> Vec<u8> {
        write_loops(&content.profile)
    }

    fn decode(bytes: &[u8], map: &ImageMap) -> Result<ProcessForests, FormatError> {
        let profile = read_loops(bytes, map)?;
        Ok(ProcessForests {
            profile,
            lacks_left_frames: false,
        })
    }

    fn build_id(content: &ProcessForests) -> [u8; 16] {
        content.profile.head.process.build_id
    }

    fn into_data(content: ProcessForests) -> StreamData {
        StreamData::Loops(content.profile)
    }
}

/// The analysis of one ring.
pub(super) struct LoopsRing {
    recording: Arc<Recording>,
    words: Words,
    sums: Arc<Mutex<Forests>>,
    k: u32,
    /// The forest of the words since the last forest was handed over. `None` if there were no
    /// words.
    growing: Option<GrowingForest>,
    /// Whether activations were open when the last forest was handed over.
    activations: Activations,
}

/// A growing forest, and its share of the memory.
struct GrowingForest {
    builder: LoopsBuilder,
    share: Share,
}

/// Whether activations were open when a forest was handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Activations {
    /// No activation was open.
    Closed,
    /// Activations were open. Sequences that continue after this point are lost.
    Open,
}

impl GrowingForest {
    fn new(recording: &Recording, words: Words, k: u32) -> Self {
        let memory = &recording.settings.memory;
        let share = memory.share();
        let limits = limits(memory, share.capacity(NODE_BYTES));
        Self {
            builder: LoopsBuilder::new(words, k, limits),
            share,
        }
    }
}

impl RingAnalysis for LoopsRing {
    fn feed(&mut self, position: u64, words: &[u32]) {
        let has_open_activations = self.activations == Activations::Open;
        if self.growing.is_none() && has_open_activations && !words.is_empty() {
            self.recording.count_cut();
        }
        let Self {
            recording,
            words: map_words,
            k,
            growing,
            ..
        } = self;
        let GrowingForest { builder, share } =
            growing.get_or_insert_with(|| GrowingForest::new(recording, map_words.clone(), *k));
        builder.set_limits(limits(
            &recording.settings.memory,
            share.capacity(NODE_BYTES),
        ));
        builder.feed(position, words);
    }

    fn hand_over(&mut self) {
        let Some(GrowingForest { builder, .. }) = self.growing.take() else {
            return;
        };
        self.activations = match builder.open_count() {
            0 => Activations::Closed,
            _ => Activations::Open,
        };
        let memory = &self.recording.settings.memory;
        let counts = builder.stream_counts();
        let limits = limits(memory, memory.capacity(NODE_BYTES));
        locked(&self.sums).add(builder.finish(), counts, limits);
    }
}

/// Returns the limits of a forest if `fitting` nodes fit in the memory. If the user chose the size
/// of the memory, the forest may fill it. Otherwise it has at most the default number of nodes,
/// because larger forests are slower.
fn limits(memory: &Memory, fitting: usize) -> Limits {
    let default = Limits::default();
    let nodes = match memory.is_chosen() {
        true => fitting,
        false => fitting.min(default.nodes),
    };
    Limits { nodes }
}

/// Makes forests of the inline counts, as if the paths had been appended as words. Each path is an
/// activation with a single path, so it becomes a root. If `--sample` left out words, the counts
/// are scaled down by the same share, so that they can be compared with the counts of sampled
/// words. Paths that were left in a call become roots too, with the values of their ring counters
/// ([`loops::left`]).
fn inline_forests(functions: &[FunctionCounts], words: &Words, stats: StreamStats) -> LoopsProfile {
    let analyzed = u128::from(stats.analyzed);
    let all = analyzed + u128::from(stats.left_out);
    let sampled = |count: Count| match stats.left_out {
        0 => count,
        _ => Count((u128::from(count) * analyzed / all) as u64),
    };
    let mut forests = LoopsProfile::default();
    for function in functions {
        let counts = function.counts.iter();
        let counts = counts.map(|&(path, count)| (path, sampled(count)));
        let nodes = counts.filter(|&(_, count)| count > Count::ZERO);
        let nodes = nodes.map(|(path, count)| ForestNode {
            depth: 0,
            path: PathId(path),
            count,
        });
        let forest = FunctionForest {
            index: function.index,
            hash: function.hash,
            nodes: nodes.collect(),
            dropped: Vec::new(),
        };
        let paths = loops::left::words(words, &forest);
        let sums = &mut forests.head.stats;
        sums.words = sums.words.saturating_add(paths);
        sums.slabs = sums.slabs.saturating_add(paths);
        sums.nodes += forest.nodes.len() as u64;
        if !forest.nodes.is_empty() {
            forests.functions.push(forest);
        }
    }
    forests
}

/// Adds other forests of the same process. The resulting forest of a function may have several
/// roots with the same path. Readers add their counts.
fn join(sum: &mut LoopsProfile, other: LoopsProfile) {
    sum.head.stats.add(&other.head.stats);
    sum.damage.extend(other.damage);
    for forest in other.functions {
        let index = sum
            .functions
            .binary_search_by_key(&forest.index, |forest| forest.index);
        match index {
            Err(index) => sum.functions.insert(index, forest),
            Ok(index) => {
                let joined = &mut sum.functions[index];
                joined.nodes.extend(forest.nodes);
                let mut dropped: BTreeMap<PathId, Count> = BTreeMap::new();
                for (path, count) in joined.dropped.drain(..).chain(forest.dropped) {
                    let sum = dropped.entry(path).or_default();
                    *sum = sum.saturating_add(count);
                }
                joined.dropped = dropped.into_iter().collect();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use holloway_format::{
        BlockMap, Counters, DagEdgeMap, DagKind, EdgeKind, EdgeMap, FunctionIndex, FunctionMap,
        ModuleMap, Outcome, PlacedModule, Scope,
    };

    use super::*;

    const RETURNED: u64 = 0;
    const LEFT: u64 = 1;

    /// An image with a function of one block, which returns. With `has_exits`, the block also has
    /// an exit edge.
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

    /// Returns the roots (path and count) of a process with these inline counts and this number of
    /// gaps in its streams, and whether counts of left frames are missing.
    fn roots(
        has_exits: bool,
        counts: &[(u64, u64)],
        gaps: u64,
        stats: StreamStats,
    ) -> (Vec<(u64, u64)>, bool) {
        let map = image(has_exits);
        let counts = counts.iter().map(|&(path, count)| (path, Count(count)));
        let inline = FunctionCounts::new(FunctionIndex::default(), 0, counts);
        let mut earlier = LoopsProfile::default();
        earlier.head.stats.gaps = gaps;
        let forests = Forests {
            earlier: Some(earlier),
            inline: vec![inline],
            ..Forests::default()
        };
        let process = forests.profile(&ProfileHead::default(), &Words::new(&map), stats);
        let nodes = process
            .profile
            .functions
            .iter()
            .flat_map(|function| &function.nodes);
        (
            nodes.map(|node| (node.path.0, node.count.0)).collect(),
            process.lacks_left_frames,
        )
    }

    /// If words are missing, left frames cannot be counted. The fact is reported only then, and
    /// only if the function has an exit edge.
    #[test]
    fn uncounted_left_frames_are_reported() {
        let (complete, sampled) = (
            StreamStats::default(),
            StreamStats {
                analyzed: 1,
                left_out: 1,
                ..StreamStats::default()
            },
        );
        let both = [(RETURNED, 6), (LEFT, 2)];
        let (complete_roots, lacks_left_frames) = roots(true, &both, 0, complete);
        assert!(
            complete_roots.contains(&(LEFT, 2)) && !lacks_left_frames,
            "{complete_roots:?}"
        );
        for (gaps, stats) in [(1, complete), (0, sampled)] {
            let (roots_with_gaps, lacks_left_frames) = roots(true, &both, gaps, stats);
            let count = |path| {
                let root = roots_with_gaps.iter().find(|root| root.0 == path);
                root.map(|root| root.1)
            };
            assert_eq!(count(LEFT), count(RETURNED), "all calls returned");
            assert!(lacks_left_frames);
            assert!(!roots(false, &both[..1], gaps, stats).1);
        }
    }
}
