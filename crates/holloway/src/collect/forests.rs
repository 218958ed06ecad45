//! The forests of sequences of paths over iterations of one image in one process, all threads together.

use std::collections::BTreeMap;
use std::path::Path;

use holloway_analysis::loops::{self, SlabForest};
use holloway_analysis::stream::{Met, Words};
use holloway_format::{
    ForestNode, FunctionCounts, FunctionForest, ImageMap, LoopsHead, LoopsProfile, LoopsStats,
    ProcessImage, ProfileHead, read_loops,
};

use super::tally::Tally;
use crate::images;
use crate::wanted::DEFAULT_K;

/// Extension of sequences of paths over iterations.
pub(crate) const LOOPS: &str = "hwl";
/// The same with what the raw profile still had when it was sealed: it counts, in place of the other, from then on.
pub(crate) const SEALED_LOOPS: &str = "sealed.hwl";

/// The forests of a process.
#[derive(Clone)]
pub(crate) struct ProcessForests {
    /// What its file holds.
    pub(crate) profile: LoopsProfile,
    /// Frames that were left early are not counted in it, in functions that may have some: words are missing.
    pub(crate) is_closed: bool,
}

/// The forests of the streams that have ended.
#[derive(Default)]
pub(crate) struct Forests {
    forest: Option<SlabForest>,
    met: Met,
    /// What was written down before.
    earlier: Option<LoopsProfile>,
    /// Paths that were counted beside the rings. They are known when the process has ended, or is looked at.
    beside: Vec<FunctionCounts>,
}

/// What lies beside a profile, a raw or a sealed one.
pub(crate) fn read(profile: &Path, is_sealed: bool, map: &ImageMap) -> Option<LoopsProfile> {
    let read = |extension| images::read_regular(&profile.with_extension(extension)).ok();
    let sealed = is_sealed.then(|| read(SEALED_LOOPS)).flatten();
    read_loops(&sealed.or_else(|| read(LOOPS))?, map).ok()
}

/// The profile is sealed: what was made when it was gets the usual name.
pub(crate) fn settle(profile: &Path) {
    let [from, to] = [SEALED_LOOPS, LOOPS].map(|extension| profile.with_extension(extension));
    std::fs::rename(from, to).ok();
}

impl Forests {
    /// Goes on with what lies beside a profile.
    pub(crate) fn resume(profile: &Path, map: &ImageMap) -> Self {
        let mut earlier = read(profile, false, map);
        if let Some(earlier) = &mut earlier {
            earlier.head.stats.lost_words = 0; // known anew, from all that was appended
        }
        Self {
            earlier,
            ..Self::default()
        }
    }

    /// Whether nothing was made yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.forest.is_none() && self.earlier.is_none()
    }

    /// Words of paths of which something was made before.
    pub(crate) fn known(&self) -> u64 {
        let earlier = self.earlier.as_ref();
        earlier.map_or(0, |earlier| earlier.head.stats.words)
    }

    /// Iterations of what was made before.
    pub(crate) fn k(&self) -> Option<u32> {
        self.earlier.as_ref().map(|earlier| earlier.head.k)
    }

    /// Adds a stream's forest, with what was met on the way. All together have `limits`.
    pub(crate) fn add(&mut self, mut forest: SlabForest, met: Met, limits: loops::Limits) {
        forest.limit(limits);
        match &mut self.forest {
            Some(sum) => sum.merge(&forest),
            none => *none = Some(forest),
        }
        for (sum, more) in [
            (&mut self.met.paths, met.paths),
            (&mut self.met.holes, met.holes),
            (&mut self.met.strangers, met.strangers),
            (&mut self.met.gaps, met.gaps),
            (&mut self.met.caught, met.caught),
        ] {
            *sum += more;
        }
    }

    /// Takes what was counted beside the rings, in place of what was before; whether there is anything.
    pub(crate) fn count(&mut self, beside: Vec<FunctionCounts>) -> bool {
        self.beside = beside;
        !self.beside.is_empty()
    }

    /// The forests of the process that `head` is of.
    pub(crate) fn profile(
        &self,
        head: &ProfileHead,
        words: &Words,
        tally: Tally,
    ) -> ProcessForests {
        let head = LoopsHead {
            process: ProcessImage::from(head),
            k: 0,
            stats: LoopsStats {
                lost_words: tally.lost,
                cut_streams: tally.cut,
                ..LoopsStats::default()
            },
        };
        let now = self.forest.as_ref();
        let now = now.map(|forest| loops::seal(head.clone(), words, forest, self.met));
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
        join(&mut profile, counted(&self.beside, words, tally));
        let stats = &profile.head.stats;
        let lacks_words = tally.is_partial() || stats.lost_words > 0 || stats.gaps > 0;
        ProcessForests {
            is_closed: lacks_words && loops::left::close(&mut profile, words),
            profile,
        }
    }
}

/// Paths that were counted, as what their words would have made: activations of one path each. Of a sample the analysed share, so that counts compare.
/// Left paths are roots as well, with what their counters say ([`loops::left`]).
fn counted(functions: &[FunctionCounts], words: &Words, tally: Tally) -> LoopsProfile {
    let part = u128::from(tally.analysed);
    let all = part + u128::from(tally.left_out);
    let share = |count: u64| match tally.left_out {
        0 => count,
        _ => (u128::from(count) * part / all) as u64,
    };
    let mut made = LoopsProfile::default();
    for function in functions {
        let counts = function.counts.iter();
        let counts = counts.map(|&(path, count)| (path, share(count)));
        let nodes = counts.filter(|&(_, count)| count > 0);
        let nodes = nodes.map(|(path, count)| ForestNode {
            depth: 0,
            path,
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
        let stats = &mut made.head.stats;
        stats.words = stats.words.saturating_add(paths);
        stats.slabs = stats.slabs.saturating_add(paths);
        made.head.stats.nodes += forest.nodes.len() as u64;
        if !forest.nodes.is_empty() {
            made.functions.push(forest);
        }
    }
    made
}

/// Adds forests of the same process. A forest may have several roots of one path: they count together.
fn join(sum: &mut LoopsProfile, more: LoopsProfile) {
    sum.head.stats.add(&more.head.stats);
    sum.damage.extend(more.damage);
    for forest in more.functions {
        let place = sum
            .functions
            .binary_search_by_key(&(forest.module, forest.function), |one| {
                (one.module, one.function)
            });
        match place {
            Err(place) => sum.functions.insert(place, forest),
            Ok(place) => {
                let known = &mut sum.functions[place];
                known.nodes.extend(forest.nodes);
                let mut dropped: BTreeMap<u64, u64> = BTreeMap::new();
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

    /// A function of one block that returns, and may be left in a call if it is to have an exit edge.
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
        tally: Tally,
    ) -> (Vec<(u64, u64)>, bool) {
        let map = image(has_exits);
        let beside = FunctionCounts {
            module: 0,
            function: 0,
            hash: 0,
            counts: counts.to_vec(),
        };
        let mut earlier = LoopsProfile::default();
        earlier.head.stats.gaps = gaps;
        let forests = Forests {
            earlier: Some(earlier),
            beside: vec![beside],
            ..Forests::default()
        };
        let made = forests.profile(&ProfileHead::default(), &Words::new(&map), tally);
        let nodes = made.profile.functions.iter().flat_map(|one| &one.nodes);
        (
            nodes.map(|node| (node.path, node.count)).collect(),
            made.is_closed,
        )
    }

    /// Frames go uncounted wherever words are missing, and only there is that a fact to tell.
    #[test]
    fn frames_that_go_uncounted_are_a_fact() {
        let (all, part) = (
            Tally::default(),
            Tally {
                analysed: 1,
                left_out: 1,
                ..Tally::default()
            },
        );
        let both = [(RETURNED, 6), (LEFT, 2)];
        let (roots, is_closed) = counted(true, &both, 0, all);
        assert!(roots.contains(&(LEFT, 2)) && !is_closed, "{roots:?}");
        for (gaps, tally) in [(1, all), (0, part)] {
            let (roots, is_closed) = counted(true, &both, gaps, tally);
            let count = |path| roots.iter().find(|root| root.0 == path).map(|root| root.1);
            assert_eq!(count(LEFT), count(RETURNED), "all came back: {roots:?}");
            assert!(is_closed);
            assert!(!counted(false, &both[..1], gaps, tally).1);
        }
    }
}
