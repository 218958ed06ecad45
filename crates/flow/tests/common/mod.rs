//! The naive twin of the crate: graphs made at random, all their paths by walking, walks split into
//! paths by hand, and a register machine that does what probes say.
#![allow(dead_code, reason = "each test file uses a part")]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use holloway_flow::{
    Action, BlockId, Cfg, Dag, DagEdgeKind, Edge, EdgeId, EdgeKind, Numbering, Path, PathEnd,
    PathStart, Probes, SuccessorOrder,
};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// Any graph of up to `blocks` blocks: reducible or not, parallel edges, self loops, pinned and cut
/// edges, blocks that cannot be reached, blocks without a way out. The entry is b0, the exit the
/// last block.
pub(crate) fn any_cfg(blocks: u32) -> impl Strategy<Value = Cfg> {
    (2..=blocks).prop_flat_map(|blocks| {
        let edge = (0..blocks - 1, 1..blocks, 0..20u8);
        prop::collection::vec(edge, 0..(3 * blocks as usize)).prop_map(move |edges| {
            let edges = edges.into_iter().map(|(from, to, kind)| Edge {
                from: BlockId(from),
                to: BlockId(to),
                kind: match kind {
                    0..=2 if to != blocks - 1 => EdgeKind::Pinned,
                    3 if to != blocks - 1 => EdgeKind::Cut,
                    _ => EdgeKind::Plain,
                },
            });
            Cfg::new(blocks, BlockId(0), BlockId(blocks - 1), edges.collect()).unwrap()
        })
    })
}

/// Graphs as functions have them: every block has a way out, at most one pinned edge leaves a block
/// (an invoke's).
pub(crate) fn function_cfg(blocks: u32) -> impl Strategy<Value = Cfg> {
    (3..=blocks).prop_flat_map(|blocks| {
        let block = prop::collection::vec((1..blocks, any::<bool>()), 1..4);
        let bodies = prop::collection::vec((block, 0..24u8), blocks as usize - 1);
        bodies.prop_map(move |bodies| {
            let mut edges = Vec::new();
            for (from, (targets, cut)) in (0..).zip(bodies) {
                for (place, &(to, near)) in targets.iter().enumerate() {
                    // Half of all edges lead a block or two on, so that long paths are common.
                    let to = if near {
                        (from + 1 + to % 2).min(blocks - 1)
                    } else {
                        to
                    };
                    let kind = match (to == blocks - 1, place, cut) {
                        (false, 1, 0..=7) => EdgeKind::Pinned,
                        (false, 0, 8) => EdgeKind::Cut,
                        _ => EdgeKind::Plain,
                    };
                    edges.push(Edge {
                        from: BlockId(from),
                        to: BlockId(to),
                        kind,
                    });
                }
            }
            Cfg::new(blocks, BlockId(0), BlockId(blocks - 1), edges).unwrap()
        })
    })
}

/// Puts a cut edge into each of these blocks, before its terminator, as a caller of `Dag::new`
/// would.
pub(crate) fn split(cfg: &Cfg, blocks: &[BlockId]) -> Cfg {
    let mut edges: Vec<Edge> = cfg.edges().to_vec();
    let mut count = cfg.block_count();
    for &block in blocks {
        let lower = BlockId(count);
        count += 1;
        for edge in edges.iter_mut().filter(|edge| edge.from == block) {
            edge.from = lower;
        }
        edges.push(Edge {
            from: block,
            to: lower,
            kind: EdgeKind::Cut,
        });
    }
    Cfg::new(count, cfg.entry(), cfg.exit(), edges).unwrap()
}

/// The dag of a graph; where pinned edges forbid one, of the graph with the blocks split that the
/// error names.
pub(crate) fn dag(cfg: Cfg) -> (Cfg, Dag) {
    match Dag::new(&cfg) {
        Ok(dag) => (cfg, dag),
        Err(cycle) => {
            let cfg = split(&cfg, &cycle.blocks);
            let dag = Dag::new(&cfg).expect("splitting the blocks named breaks all cycles");
            (cfg, dag)
        }
    }
}

/// Numbers paths under a limit, or under the least limit that can be held.
pub(crate) fn number(cfg: &Cfg, dag: &Dag, order: SuccessorOrder<'_>, limit: u64) -> Numbering {
    let numbering = match Numbering::new(cfg, dag.clone(), order, limit) {
        Ok(numbering) => numbering,
        Err(error) => {
            assert!(error.least > limit && error.limit == limit);
            let again = Numbering::new(cfg, dag.clone(), order, error.least);
            let numbering = again.expect("the least that was reached can be reached");
            assert!(numbering.path_count() <= error.least);
            return numbering;
        }
    };
    assert!(numbering.path_count() <= limit);
    numbering
}

/// The edges at which paths end, and how, as the numbering has it; the exit edges are not among
/// them.
pub(crate) fn ends(numbering: &Numbering) -> BTreeMap<EdgeId, PathEnd> {
    let ends = numbering
        .dag_edges()
        .iter()
        .filter_map(|edge| match edge.kind {
            DagEdgeKind::Back(id) => Some((id, PathEnd::Back(id))),
            DagEdgeKind::Cut(id) => Some((id, PathEnd::Cut(id))),
            _ => None,
        });
    ends.collect()
}

/// Blocks that can be reached from the entry.
pub(crate) fn reachable(cfg: &Cfg) -> BTreeSet<BlockId> {
    let mut seen = BTreeSet::from([cfg.entry()]);
    let mut work = vec![cfg.entry()];
    while let Some(block) = work.pop() {
        for &edge in cfg.successors(block) {
            if seen.insert(cfg.edge(edge).to) {
                work.push(cfg.edge(edge).to);
            }
        }
    }
    seen
}

/// All paths, by walking every one of them; `None` if there are more than `most`.
pub(crate) fn all_paths(
    cfg: &Cfg,
    ends: &BTreeMap<EdgeId, PathEnd>,
    most: usize,
) -> Option<Vec<Path>> {
    let reached = reachable(cfg);
    let heads: BTreeSet<BlockId> = ends
        .keys()
        .filter(|edge| reached.contains(&cfg.edge(**edge).from))
        .map(|edge| cfg.edge(*edge).to)
        .collect();
    let starts = [(PathStart::Entry, cfg.entry())].into_iter();
    let starts = starts.chain(heads.into_iter().map(|head| (PathStart::Loop(head), head)));
    let mut paths = Vec::new();
    for (start, block) in starts {
        let mut work = vec![(vec![block], Vec::new())];
        while let Some((blocks, edges)) = work.pop() {
            for &id in cfg.successors(*blocks.last().unwrap()) {
                let to = cfg.edge(id).to;
                let end = if to == cfg.exit() {
                    Some(PathEnd::Exit(id))
                } else {
                    ends.get(&id).copied()
                };
                let (mut blocks, mut edges): (Vec<_>, Vec<_>) = (blocks.clone(), edges.clone());
                match end {
                    Some(end) => paths.push(Path {
                        start,
                        blocks,
                        edges,
                        end,
                    }),
                    None => {
                        blocks.push(to);
                        edges.push(id);
                        work.push((blocks, edges));
                    }
                }
                if paths.len() + work.len() > most {
                    return None;
                }
            }
        }
    }
    Some(paths)
}

/// What a walk through a function did, seen twice: by hand, and by probes.
#[derive(Default, Debug)]
pub(crate) struct Trace {
    /// Finished paths, by hand.
    pub(crate) paths: BTreeMap<Path, u64>,
    /// Runs of each edge on finished paths, by hand.
    pub(crate) edges: BTreeMap<EdgeId, u64>,
    /// Calls whose first path was finished, by hand.
    pub(crate) calls: u64,
    /// What the probes counted.
    pub(crate) counters: BTreeMap<i64, u64>,
}

/// A function that runs: where it is, the path so far, the register (unset until a probe sets it).
struct Machine<'a> {
    cfg: &'a Cfg,
    ends: &'a BTreeMap<EdgeId, PathEnd>,
    probes: &'a Probes,
    register: Option<i64>,
    start: PathStart,
    blocks: Vec<BlockId>,
    edges: Vec<EdgeId>,
    trace: Trace,
}

impl Machine<'_> {
    fn act(&mut self, actions: &[Action]) {
        for action in actions {
            match *action {
                Action::Set(value) => self.register = Some(value),
                Action::Add(value) => {
                    let register = self
                        .register
                        .as_mut()
                        .expect("the register is set before it is used");
                    *register = register.wrapping_add(value);
                }
                Action::Count {
                    register,
                    increment,
                } => {
                    let base = if register {
                        self.register.expect("set before it is counted")
                    } else {
                        0
                    };
                    *self
                        .trace
                        .counters
                        .entry(base.wrapping_add(increment))
                        .or_default() += 1;
                }
            }
        }
    }

    fn call(&mut self) {
        self.register = None;
        self.start = PathStart::Entry;
        self.blocks = vec![self.cfg.entry()];
        self.edges.clear();
        self.act(&self.probes.entry.clone());
    }

    /// Runs an edge; true if a path ended. The process stops on a last edge, before what follows
    /// it.
    fn run(&mut self, id: EdgeId, last: bool) -> bool {
        let to = self.cfg.edge(id).to;
        let end = if to == self.cfg.exit() {
            Some(PathEnd::Exit(id))
        } else {
            self.ends.get(&id).copied()
        };
        let probe = self.probes.edge(id).cloned().unwrap_or_default();
        self.act(&probe.before);
        let Some(end) = end else {
            assert!(probe.after.is_empty(), "only an end is followed by a start");
            self.blocks.push(to);
            self.edges.push(id);
            return false;
        };
        self.finish(end);
        if !last && to != self.cfg.exit() {
            self.register = None;
            self.start = PathStart::Loop(to);
            self.blocks = vec![to];
            self.act(&probe.after);
        }
        true
    }

    fn finish(&mut self, end: PathEnd) {
        let (blocks, edges) = (
            std::mem::take(&mut self.blocks),
            std::mem::take(&mut self.edges),
        );
        for edge in edges.iter().copied().chain([end.edge()]) {
            *self.trace.edges.entry(edge).or_default() += 1;
        }
        self.trace.calls += u64::from(self.start == PathStart::Entry);
        *self
            .trace
            .paths
            .entry(Path {
                start: self.start,
                blocks,
                edges,
                end,
            })
            .or_default() += 1;
    }
}

/// Walks through a function as `choices` say, calling it again where it returns; in the end goes
/// the shortest way to an end of a path, if there is one. Now and then a block that leaks is left for
/// good, as a call in it would by longjmp: the path it was on is none.
pub(crate) fn walk(
    cfg: &Cfg,
    numbering: &Numbering,
    probes: &Probes,
    leaks: &[BlockId],
    choices: &[u8],
) -> Trace {
    let ends = ends(numbering);
    let mut machine = Machine {
        cfg,
        ends: &ends,
        probes,
        register: None,
        start: PathStart::Entry,
        blocks: Vec::new(),
        edges: Vec::new(),
        trace: Trace::default(),
    };
    let exit = cfg.exit();
    let mut here = exit;
    for &choice in choices {
        if here == exit {
            machine.call();
            here = cfg.entry();
        }
        if choice >= 200 && leaks.contains(&here) {
            here = exit;
            continue;
        }
        let successors = cfg.successors(here);
        if successors.is_empty() {
            return machine.trace;
        }
        let edge = successors[choice as usize % successors.len()];
        machine.run(edge, false);
        here = cfg.edge(edge).to;
    }
    if here != exit {
        for edge in way_to_end(cfg, &ends, here).unwrap_or_default() {
            machine.run(edge, true);
        }
    }
    machine.trace
}

/// The shortest run of edges that ends a path.
fn way_to_end(cfg: &Cfg, ends: &BTreeMap<EdgeId, PathEnd>, from: BlockId) -> Option<Vec<EdgeId>> {
    let mut came = BTreeMap::from([(from, None)]);
    let mut work = std::collections::VecDeque::from([from]);
    while let Some(block) = work.pop_front() {
        for &edge in cfg.successors(block) {
            let to = cfg.edge(edge).to;
            if to == cfg.exit() || ends.contains_key(&edge) {
                let mut way = vec![edge];
                let mut here = block;
                while let Some(edge) = came[&here] {
                    way.push(edge);
                    here = cfg.edge(edge).from;
                }
                way.reverse();
                return Some(way);
            }
            came.entry(to).or_insert_with(|| {
                work.push_back(to);
                Some(edge)
            });
        }
    }
    None
}
