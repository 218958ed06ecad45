//! Infers the executions of all edges from measured executions of blocks, which are not exact: they
//! come from samples, and the flow into a block differs from the flow out of it.
//!
//! The inferred executions are a flow, and the cheapest change of the measured executions. A change
//! has a cost for each execution that it adds to a block or takes from it (Levin, Newman, Haber,
//! "Complementing missing and inaccurate profiling using a minimum cost circulation algorithm",
//! HiPEAC 2008; He, Mestre, Pupyrev, Wang, Yu, "Profile inference revisited", POPL 2022, which is
//! LLVM's).
//!
//! The network has two nodes for each block, *in* and *out*. An edge of the graph leads from out to
//! in. A measured block has four arcs (`w` is its measured executions):
//!
//! ```text
//! source → out  w, free       in → out  any number, cost of an increase
//! in → sink     w, free       out → in  w, cost of a decrease
//! ```
//! The exit leads back to the entry. A maximum flow from source to sink of minimum cost is the
//! cheapest change. It always uses the arcs of the source completely.
//!
//! Cost: one search for shortest paths for each different length of a shortest path, and a maximum
//! flow among the paths of each length.

use crate::cfg::Cfg;
use crate::ids::BlockId;
use alloc::collections::{BinaryHeap, VecDeque};
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

/// Maximum measured executions of a block. The sum over 2^32 blocks does not overflow.
const MAX_EXECUTIONS: u64 = 1 << 30;

/// What is known about the executions of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Nothing. Any number of executions is free.
    Unknown,
    /// A measured number of executions.
    Executions {
        /// The number. Larger numbers than 2^30 count as 2^30.
        count: u64,
        /// Cost of each execution more than `count`.
        increase: u32,
        /// Cost of each execution less than `count`.
        decrease: u32,
    },
}

/// Inferred executions. The flow into each block equals the flow out of it, except in blocks from
/// which no way leads to the exit: control may end there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inferred {
    /// By edge.
    pub edges: Vec<u64>,
    /// By block. The exit's executions are the times that control left the function.
    pub blocks: Vec<u64>,
}

/// Infers the executions of all edges and blocks.
///
/// `measures` has an element for each block. `edge_costs` has the cost of one execution of each
/// edge: 0 for most edges, more for edges that are rarely taken.
///
/// Unreachable blocks do not run. If the cheapest change leaves a loop that is not entered, the
/// loop is entered once.
///
/// # Panics
/// If `measures` or `edge_costs` is too short.
#[must_use]
pub fn infer(cfg: &Cfg, measures: &[Measure], edge_costs: &[u32]) -> Inferred {
    let is_reachable = reached(cfg, |_| true);
    let stops = stops(cfg);
    let (mut edges, mut calls) = cheapest(cfg, measures, edge_costs, &is_reachable, &stops);
    enter_all(cfg, &stops, &mut edges, &mut calls);
    let mut blocks = vec![0u64; cfg.block_count() as usize];
    blocks[cfg.entry().index()] = calls;
    for (edge, &count) in cfg.edges().iter().zip(&edges) {
        blocks[edge.to.index()] += count;
    }
    Inferred { edges, blocks }
}

/// By block: whether control can end there, because no way leads from it to the exit.
fn stops(cfg: &Cfg) -> Vec<bool> {
    let mut reaches_exit = vec![false; cfg.block_count() as usize];
    reaches_exit[cfg.exit().index()] = true;
    let mut left = vec![cfg.exit()];
    while let Some(block) = left.pop() {
        for &edge in cfg.predecessors(block) {
            let from = cfg.edge(edge).from;
            if !reaches_exit[from.index()] {
                reaches_exit[from.index()] = true;
                left.push(from);
            }
        }
    }
    reaches_exit.into_iter().map(|reaches| !reaches).collect()
}

/// By block: whether a way of edges that `keep` accepts leads to it from the entry.
fn reached(cfg: &Cfg, keep: impl Fn(usize) -> bool) -> Vec<bool> {
    let mut is_reached = vec![false; cfg.block_count() as usize];
    is_reached[cfg.entry().index()] = true;
    let mut left = vec![cfg.entry()];
    while let Some(block) = left.pop() {
        for &edge in cfg.successors(block) {
            let to = cfg.edge(edge).to;
            if keep(edge.index()) && !is_reached[to.index()] {
                is_reached[to.index()] = true;
                left.push(to);
            }
        }
    }
    is_reached
}

/// The edges' executions of minimum cost, and the calls of the function.
fn cheapest(
    cfg: &Cfg,
    measures: &[Measure],
    edge_costs: &[u32],
    is_reachable: &[bool],
    stops: &[bool],
) -> (Vec<u64>, u64) {
    let blocks = cfg.block_count() as usize;
    let (source, sink) = (2 * blocks, 2 * blocks + 1);
    let mut network = Network::new(2 * blocks + 2);
    let edges: Vec<usize> = cfg
        .edges()
        .iter()
        .zip(edge_costs)
        .map(|(edge, &cost)| {
            let (from, to) = (out_of(edge.from), into(edge.to));
            network.add(from, to, UNLIMITED, cost)
        })
        .collect();
    let entry = into(cfg.entry());
    let mut calls = Vec::new();
    for block in cfg.blocks() {
        let (inward, outward) = (into(block), out_of(block));
        if stops[block.index()] || block == cfg.exit() {
            calls.push(network.add(outward, entry, UNLIMITED, 0));
        }
        match measures[block.index()] {
            _ if !is_reachable[block.index()] => {}
            Measure::Unknown => {
                network.add(inward, outward, UNLIMITED, 0);
            }
            Measure::Executions {
                count,
                increase,
                decrease,
            } => {
                let count = count.min(MAX_EXECUTIONS);
                network.add(inward, outward, UNLIMITED, increase);
                if count > 0 {
                    network.add(outward, inward, count, decrease);
                    network.add(source, outward, count, 0);
                    network.add(inward, sink, count, 0);
                }
            }
        }
    }
    network.send_all(source, sink);
    let calls = calls.into_iter().map(|arc| network.flow(arc)).sum();
    let edges = edges.into_iter().map(|arc| network.flow(arc));
    (edges.collect(), calls)
}

fn into(block: BlockId) -> usize {
    2 * block.index()
}

fn out_of(block: BlockId) -> usize {
    2 * block.index() + 1
}

/// Adds one execution of a way from the entry to the end for each block that runs although no flow
/// leads to it from the entry.
fn enter_all(cfg: &Cfg, stops: &[bool], edges: &mut [u64], calls: &mut u64) {
    let mut is_reached = reached(cfg, |edge| edges[edge] > 0);
    let runs: Vec<BlockId> = cfg
        .edges()
        .iter()
        .zip(&*edges)
        .filter(|&(_, &count)| count > 0)
        .map(|(edge, _)| edge.to)
        .collect();
    for block in runs {
        if is_reached[block.index()] {
            continue;
        }
        let entered = way(cfg, cfg.entry(), |to| to == block);
        let left = way(cfg, block, |to| to == cfg.exit() || stops[to.index()]);
        if let (Some(entered), Some(left)) = (entered, left) {
            for edge in entered.into_iter().chain(left) {
                edges[edge] += 1;
            }
            *calls += 1;
            is_reached = reached(cfg, |edge| edges[edge] > 0);
        }
    }
}

/// The edges of a shortest way from a block to a block that `is_end` accepts.
fn way(cfg: &Cfg, start: BlockId, is_end: impl Fn(BlockId) -> bool) -> Option<Vec<usize>> {
    let mut last_edge = vec![None; cfg.block_count() as usize];
    let mut left = VecDeque::from([start]);
    let mut end = is_end(start).then_some(start);
    while let (None, Some(block)) = (end, left.pop_front()) {
        for &edge in cfg.successors(block) {
            let to = cfg.edge(edge).to;
            if to != start && last_edge[to.index()].is_none() {
                last_edge[to.index()] = Some(edge);
                left.push_back(to);
                if is_end(to) {
                    end = Some(to);
                    break;
                }
            }
        }
    }
    let mut block = end?;
    let mut edges = Vec::new();
    while let Some(edge) = last_edge[block.index()] {
        edges.push(edge.index());
        block = cfg.edge(edge).from;
    }
    Some(edges)
}

/// Capacity of arcs without a limit. More than the flow of any network here.
const UNLIMITED: u64 = u64::MAX / 4;

/// A network of arcs with capacities and costs. Arc `2i + 1` is the reverse of arc `2i`: its
/// capacity is the flow of arc `2i`.
struct Network {
    /// By node: its arcs.
    arcs_of: Vec<Vec<u32>>,
    arcs: Vec<Arc>,
    /// By node: the length of the shortest path from the source, in the searches up to now.
    potentials: Vec<i64>,
}

struct Arc {
    to: u32,
    capacity: u64,
    cost: i64,
}

impl Network {
    fn new(nodes: usize) -> Self {
        Self {
            arcs_of: vec![Vec::new(); nodes],
            arcs: Vec::new(),
            potentials: vec![0; nodes],
        }
    }

    fn add(&mut self, from: usize, to: usize, capacity: u64, cost: u32) -> usize {
        let id = self.arcs.len();
        self.arcs_of[from].push(id as u32);
        self.arcs_of[to].push(id as u32 + 1);
        let cost = i64::from(cost);
        self.arcs.push(Arc {
            to: to as u32,
            capacity,
            cost,
        });
        self.arcs.push(Arc {
            to: from as u32,
            capacity: 0,
            cost: -cost,
        });
        id
    }

    fn flow(&self, arc: usize) -> u64 {
        self.arcs[arc ^ 1].capacity
    }

    /// Sends as much as possible from the source to the sink, at minimum cost (successive shortest
    /// paths; all paths of one length at a time).
    fn send_all(&mut self, source: usize, sink: usize) {
        while self.find_distances(source, sink) {
            while let Some(levels) = self.levels(source, sink) {
                self.send_along(source, sink, &levels);
            }
        }
    }

    /// The cost of an arc, reduced by the potentials. Not negative on arcs with capacity.
    fn reduced_cost(&self, from: usize, arc: &Arc) -> i64 {
        arc.cost + self.potentials[from] - self.potentials[arc.to as usize]
    }

    /// Adds the distances from the source to the potentials (Dijkstra). Returns whether the sink
    /// can be reached.
    fn find_distances(&mut self, source: usize, sink: usize) -> bool {
        let mut distances = vec![i64::MAX; self.arcs_of.len()];
        distances[source] = 0;
        let mut queue = BinaryHeap::from([Reverse((0i64, source))]);
        while let Some(Reverse((distance, node))) = queue.pop() {
            if distance > distances[node] {
                continue;
            }
            if node == sink {
                break;
            }
            for &arc in &self.arcs_of[node] {
                let arc = &self.arcs[arc as usize];
                let next = distance + self.reduced_cost(node, arc);
                let to = arc.to as usize;
                if arc.capacity > 0 && next < distances[to] {
                    distances[to] = next;
                    queue.push(Reverse((next, to)));
                }
            }
        }
        let limit = distances[sink];
        if limit == i64::MAX {
            return false;
        }
        for (potential, distance) in self.potentials.iter_mut().zip(distances) {
            *potential += distance.min(limit);
        }
        true
    }

    /// By node: the number of arcs from the source on shortest paths. `None` if no shortest path
    /// leads to the sink.
    fn levels(&self, source: usize, sink: usize) -> Option<Vec<u32>> {
        let mut levels = vec![u32::MAX; self.arcs_of.len()];
        levels[source] = 0;
        let mut left = VecDeque::from([source]);
        while let Some(node) = left.pop_front() {
            for &arc in &self.arcs_of[node] {
                let arc = &self.arcs[arc as usize];
                let to = arc.to as usize;
                let is_open = arc.capacity > 0 && self.reduced_cost(node, arc) == 0;
                if is_open && levels[to] == u32::MAX {
                    levels[to] = levels[node] + 1;
                    left.push_back(to);
                }
            }
        }
        (levels[sink] != u32::MAX).then_some(levels)
    }

    /// Sends a blocking flow along arcs from each level to the next (Dinic).
    fn send_along(&mut self, source: usize, sink: usize, levels: &[u32]) {
        let mut next_arc = vec![0usize; self.arcs_of.len()];
        let mut path: Vec<usize> = Vec::new();
        let mut node = source;
        loop {
            if node == sink {
                let capacities = path.iter().map(|&arc| self.arcs[arc].capacity);
                let amount = capacities.min().unwrap_or(0);
                for &arc in &path {
                    self.arcs[arc].capacity -= amount;
                    self.arcs[arc ^ 1].capacity += amount;
                }
                let full = path.iter().position(|&arc| self.arcs[arc].capacity == 0);
                path.truncate(full.unwrap_or(0));
                node = path
                    .last()
                    .map_or(source, |&arc| self.arcs[arc].to as usize);
                continue;
            }
            let open = self.arcs_of[node][next_arc[node]..]
                .iter()
                .position(|&arc| {
                    let arc = &self.arcs[arc as usize];
                    arc.capacity > 0
                        && levels[arc.to as usize] == levels[node] + 1
                        && self.reduced_cost(node, arc) == 0
                });
            match open {
                Some(skipped) => {
                    next_arc[node] += skipped;
                    let arc = self.arcs_of[node][next_arc[node]] as usize;
                    path.push(arc);
                    node = self.arcs[arc].to as usize;
                }
                None => {
                    let Some(arc) = path.pop() else {
                        return;
                    };
                    node = self.arcs[arc ^ 1].to as usize;
                    next_arc[node] += 1;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;
    use core::fmt::Write as _;
    use proptest::prelude::*;

    fn measured(counts: &[u64]) -> Vec<Measure> {
        let executions = |&count: &u64| Measure::Executions {
            count,
            increase: if count == 0 { 11 } else { 10 },
            decrease: 20,
        };
        counts.iter().map(executions).collect()
    }

    fn diamond() -> Cfg {
        "b0: entry
           e0 -> b1
           e1 -> b2
         b1:
           e2 -> b3
         b2:
           e3 -> b3
         b3:
           e4 -> b4
         b4: exit"
            .parse()
            .unwrap()
    }

    #[test]
    fn a_flow_is_not_changed() {
        let inferred = infer(&diamond(), &measured(&[10, 7, 3, 10, 10]), &[0; 5]);
        assert_eq!(inferred.edges, [7, 3, 7, 3, 10]);
        assert_eq!(inferred.blocks, [10, 7, 3, 10, 10]);
    }

    #[test]
    fn the_cheapest_change_is_made() {
        // b0 and b3 say 10, b1 and b2 say 6 + 3: one more execution of b1 or b2 costs 10, one less
        // of both b0 and b3 costs 40. The exit is unknown.
        let mut measures = measured(&[10, 6, 3, 10, 0]);
        measures[4] = Measure::Unknown;
        let inferred = infer(&diamond(), &measures, &[0; 5]);
        assert_eq!(inferred.blocks[0], 10);
        assert_eq!(inferred.blocks[1] + inferred.blocks[2], 10);
    }

    #[test]
    fn a_loop_without_an_entry_is_entered_once() {
        let cfg: Cfg = "b0: entry
               e0 -> b1
             b1:
               e1 -> b1
               e2 -> b2
             b2: exit"
            .parse()
            .unwrap();
        let inferred = infer(&cfg, &measured(&[0, 1000, 0]), &[0; 3]);
        assert_eq!(inferred.edges, [1, 1000, 1]);
        assert_eq!(inferred.blocks, [1, 1001, 1]);
    }

    #[test]
    fn a_loop_without_a_way_out_runs() {
        let cfg: Cfg = "b0: entry
               e0 -> b1
               e1 -> b2
             b1:
               e2 -> b1
             b2: exit"
            .parse()
            .unwrap();
        let inferred = infer(&cfg, &measured(&[5, 50, 4, 0]), &[0; 3]);
        assert_eq!(inferred.edges, [1, 4, 49]);
    }

    #[test]
    fn unreachable_blocks_do_not_run() {
        let cfg: Cfg = "b0: entry
               e0 -> b2
             b1:
               e1 -> b1
               e2 -> b2
             b2: exit"
            .parse()
            .unwrap();
        let inferred = infer(&cfg, &measured(&[5, 50, 5]), &[0; 3]);
        assert_eq!(inferred.edges, [5, 0, 0]);
    }

    prop_compose! {
        fn graphs()(blocks in 3usize..9)(
            targets in prop::collection::vec(prop::collection::vec(1..blocks, 1..4), blocks - 1),
            counts in prop::collection::vec(0u64..30, blocks),
            lengths in prop::collection::vec(1u32..5, blocks),
            rare in prop::collection::vec(0u32..8, 3 * blocks),
        ) -> (Cfg, Vec<Measure>, Vec<u32>) {
            let mut text = String::new();
            let (mut edge, exit) = (0, targets.len());
            for (block, targets) in targets.iter().enumerate() {
                writeln!(text, "b{block}:{}", if block == 0 { " entry" } else { "" }).unwrap();
                for target in targets {
                    writeln!(text, " e{edge} -> b{target}").unwrap();
                    edge += 1;
                }
            }
            writeln!(text, "b{exit}: exit").unwrap();
            let cfg: Cfg = text.parse().unwrap();
            let measures = counts.iter().zip(lengths).enumerate().map(|(block, (&count, length))| {
                match block == exit {
                    true => Measure::Unknown,
                    false => Measure::Executions {
                        count,
                        increase: 10 * length,
                        decrease: 20 * length,
                    },
                }
            });
            let costs = rare.into_iter().take(cfg.edges().len()).map(|cost| cost.saturating_sub(5));
            (cfg.clone(), measures.collect(), costs.collect())
        }
    }

    /// The arcs of all changes by one execution: (from, to, cost of the next execution).
    fn changes(
        cfg: &Cfg,
        measures: &[Measure],
        costs: &[u32],
        edges: &[u64],
        calls: u64,
    ) -> Vec<(usize, usize, i64)> {
        let is_reachable = reached(cfg, |_| true);
        let stops = stops(cfg);
        let mut arcs = Vec::new();
        for ((edge, &cost), &count) in cfg.edges().iter().zip(costs).zip(edges) {
            arcs.push((out_of(edge.from), into(edge.to), i64::from(cost)));
            if count > 0 {
                arcs.push((into(edge.to), out_of(edge.from), -i64::from(cost)));
            }
        }
        let sum =
            |ids: &[crate::ids::EdgeId]| ids.iter().map(|edge| edges[edge.index()]).sum::<u64>();
        for block in cfg.blocks().filter(|block| is_reachable[block.index()]) {
            let (entered, left) = (sum(cfg.predecessors(block)), sum(cfg.successors(block)));
            let ends = stops[block.index()] || block == cfg.exit();
            let executions = if block == cfg.entry() { calls } else { entered };
            if ends {
                arcs.push((out_of(block), into(cfg.entry()), 0));
                if executions > left {
                    arcs.push((into(cfg.entry()), out_of(block), 0));
                }
            } else {
                assert_eq!(executions, left, "the flow of {block}");
            }
            let (more, less) = match measures[block.index()] {
                Measure::Unknown => (0, 0),
                Measure::Executions {
                    count,
                    increase,
                    decrease,
                } => (
                    if executions < count {
                        -i64::from(decrease)
                    } else {
                        increase.into()
                    },
                    if executions > count {
                        -i64::from(increase)
                    } else {
                        decrease.into()
                    },
                ),
            };
            arcs.push((into(block), out_of(block), more));
            if executions > 0 {
                arcs.push((out_of(block), into(block), less));
            }
        }
        arcs
    }

    proptest! {
        /// A flow has minimum cost if and only if no cycle of changes has a negative cost (Klein
        /// 1967).
        #[test]
        fn no_change_is_cheaper((cfg, measures, costs) in graphs()) {
            let is_reachable = reached(&cfg, |_| true);
            let (edges, calls) = cheapest(&cfg, &measures, &costs, &is_reachable, &stops(&cfg));
            let arcs = changes(&cfg, &measures, &costs, &edges, calls);
            let mut distances = vec![0i64; 2 * cfg.block_count() as usize];
            for round in 0..=distances.len() {
                let mut is_stable = true;
                for &(from, to, cost) in &arcs {
                    if distances[from] + cost < distances[to] {
                        distances[to] = distances[from] + cost;
                        is_stable = false;
                    }
                }
                if is_stable {
                    break;
                }
                prop_assert!(round < distances.len(), "a cheaper flow than {edges:?} exists");
            }
        }

        #[test]
        fn everything_that_runs_is_entered((cfg, measures, costs) in graphs()) {
            let inferred = infer(&cfg, &measures, &costs);
            let is_entered = reached(&cfg, |edge| inferred.edges[edge] > 0);
            let stops = stops(&cfg);
            for block in cfg.blocks() {
                let count = inferred.blocks[block.index()];
                prop_assert!(count == 0 || is_entered[block.index()]);
                let left: u64 = cfg.successors(block).iter().map(|edge| inferred.edges[edge.index()]).sum();
                let ends = stops[block.index()] || block == cfg.exit();
                let is_conserved = count == left || ends && count >= left;
                prop_assert!(is_conserved, "{block} is entered {count} times and left {left} times");
            }
        }
    }
}
