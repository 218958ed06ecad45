//! Reconstructs a function's graph of undivided blocks, as the compiler made them, by joining the
//! parts into which the weaver divided each block.
//!
//! The weaver divides a block after calls that may not come back, before calls (traces), and after
//! calls that return twice. Lines are counted by undivided blocks, so that every kind of profile
//! gives the same counts. The counts of the parts are kept: how often control reached each part,
//! and how often control came to a part without having entered the block at its top.
//!
//! One block is added: the *front block* before the entry, on the line of the function's
//! declaration. Two sorts of blocks are removed:
//!
//! - blocks without places: the compiler generated them
//! - blocks that divide an edge: they contain only a jump, which has the same place as the one
//!   branch that leads to it
//!
//! A removed block with one successor is replaced by this successor. A removed block with several
//! successors and one predecessor is replaced by this predecessor. A block with several of both
//! stays.
//!
//! Cost: linear in blocks, edges and places.

use std::collections::BTreeMap;

use holloway_format::{Count, EdgeKind, EdgeMap, FunctionMap, Outcome, Place};

use super::cycles::Arc;
use crate::bounds::Bound;
use crate::flow::{BlockFlow, is_before_call};
use crate::run::Function;
use holloway_abi::Unit;

/// Consecutive places of a block. A part begins where control may have entered or left the block.
#[derive(Debug, Default)]
pub(super) struct Part {
    pub(super) places: Vec<Place>,
    /// Times that control reached the part.
    pub(super) reached: Count,
    /// The part of `reached` where a call before the part came back once more.
    pub(super) reentries: Count,
    /// How these two counts may differ from the real numbers.
    pub(super) bound: Bound,
}

/// All undivided blocks with the flow between them.
#[derive(Debug)]
pub(super) struct UndividedGraph {
    /// By block: its parts in order. The last block is the front block.
    pub(super) blocks: Vec<Vec<Part>>,
    pub(super) arcs: Vec<Arc>,
    /// By block: the edges into it.
    pub(super) into: Vec<Vec<usize>>,
    /// By block: the edges out of it.
    pub(super) out: Vec<Vec<usize>>,
    /// Number of calls of the function.
    pub(super) calls: Count,
}

impl UndividedGraph {
    pub(super) fn new(function: &Function) -> UndividedGraph {
        let map = &function.map;
        let flow = function.flow();
        let head = heads(map);
        let mut blocks = parts(function, &head);
        let declaration = Place {
            scope: 0,
            line: map.scopes.first().map_or(0, |scope| scope.line),
            column: 0,
        };
        let bounds = function.bounds();
        blocks.push(vec![Part {
            places: vec![declaration],
            reached: flow.calls,
            reentries: Count::ZERO,
            bound: bounds.calls,
        }]);
        let front = blocks.len() - 1;
        let mut arcs = vec![Arc {
            from: front,
            to: head[map.entry as usize],
            count: flow.calls,
            bound: bounds.calls,
        }];
        let edges = map.edges.iter().zip(flow.edges.iter().zip(&bounds.edges));
        let edges = edges.filter(|(edge, _)| is_between_blocks(edge));
        arcs.extend(edges.map(|(edge, (&count, &bound))| Arc {
            from: head[edge.from as usize],
            to: head[edge.to as usize],
            count: Count(u64::try_from(count).unwrap_or(0)),
            bound,
        }));
        replace_empty_blocks(&blocks, &mut arcs, map.exit as usize);
        arcs.retain(|arc| arc.to != map.exit as usize);
        let mut into = vec![Vec::new(); blocks.len()];
        let mut out = into.clone();
        for (index, arc) in arcs.iter().enumerate() {
            into[arc.to].push(index);
            out[arc.from].push(index);
        }
        UndividedGraph {
            blocks,
            arcs,
            into,
            out,
            calls: flow.calls,
        }
    }

    /// The front block.
    pub(super) fn front(&self) -> usize {
        self.blocks.len() - 1
    }
}

/// Whether an edge joins two parts of one undivided block.
fn is_inside(edge: &EdgeMap) -> bool {
    match edge.outcome {
        Outcome::Again | Outcome::Split | Outcome::Returned => true,
        Outcome::Jump
        | Outcome::True
        | Outcome::False
        | Outcome::Case(_)
        | Outcome::Default
        | Outcome::Normal
        | Outcome::Unwind
        | Outcome::Indirect
        | Outcome::AsmGoto
        | Outcome::Return
        | Outcome::Noreturn
        | Outcome::Resume
        | Outcome::TailCall
        | Outcome::Left => false,
    }
}

/// Whether an edge joins two undivided blocks.
fn is_between_blocks(edge: &EdgeMap) -> bool {
    edge.kind != EdgeKind::Exit && !is_inside(edge)
}

/// By block of the map: the first part of the undivided block that contains it. Parts follow one
/// another.
fn heads(map: &FunctionMap) -> Vec<usize> {
    let mut head: Vec<usize> = (0..map.blocks.len()).collect();
    let mut inside: Vec<(u32, u32)> = map
        .edges
        .iter()
        .filter(|edge| is_inside(edge) && edge.from < edge.to)
        .map(|edge| (edge.to, edge.from))
        .collect();
    inside.sort_unstable();
    for (to, from) in inside {
        head[to as usize] = head[from as usize];
    }
    head
}

/// The parts of each undivided block, by the number of its first part. The other numbers have no
/// parts.
fn parts(function: &Function, head: &[usize]) -> Vec<Vec<Part>> {
    let map = &function.map;
    let flow = function.flow();
    let block_flow = BlockFlow::new(map, &flow.edges, flow.calls);
    let (mut after_reentry, mut before_call) =
        (vec![false; map.blocks.len()], vec![false; map.blocks.len()]);
    let mut has_exit = after_reentry.clone();
    // By block: the place of the branch that leads to it, if only one edge leads to it.
    let mut branch_place: Vec<Option<Option<Place>>> = vec![None; map.blocks.len()];
    let mut has_no_edge_yet = vec![true; map.blocks.len()];
    let mut jumps: Vec<Option<(Place, Count, Bound)>> = vec![None; map.blocks.len()];
    let part_bounds = PartBounds::new(function);
    let bounds = function.bounds();
    let edges = map.edges.iter().zip(&bounds.edges);
    for ((edge, &bound), &count) in edges.zip(&flow.edges) {
        let (from, to) = (edge.from as usize, edge.to as usize);
        after_reentry[to] |= edge.outcome == Outcome::Again;
        before_call[to] |= is_before_call(edge);
        has_exit[from] |= edge.kind == EdgeKind::Exit;
        branch_place[to] = match has_no_edge_yet[to] {
            true => Some(edge.place),
            false => None,
        };
        has_no_edge_yet[to] = false;
        if edge.outcome == Outcome::Jump {
            let count = Count(u64::try_from(count).unwrap_or(0));
            jumps[from] = edge.place.map(|place| (place, count, bound));
        }
    }
    let code = FirstCode::new(map);
    let mut blocks: Vec<Vec<Part>> = (0..map.blocks.len()).map(|_| Vec::new()).collect();
    for (id, block) in map.blocks.iter().enumerate() {
        let (entries, reentries) = (block_flow.entries(id), block_flow.reentries(id));
        let reached = entries.saturating_add(reentries);
        let parts = &mut blocks[head[id]];
        let mut add = |places: &[Place], reached, reentries, bound| {
            parts.push(Part {
                places: places.to_vec(),
                reached,
                reentries,
                bound,
            });
        };
        let entered = part_bounds.entered(id);
        let reentered = part_bounds.reentered(id);
        match block.places.split_first() {
            _ if after_reentry[id] => add(&block.places, reached, reentries, reentered),
            // The places after the first call are reached as often as the call comes back.
            Some((call, after_call)) if before_call[id] => {
                add(&[*call], entries, Count::ZERO, entered);
                let returned = reached.saturating_sub(flow.left[id]);
                add(after_call, returned, reentries, reentered);
            }
            _ => {
                add(&block.places, entries, Count::ZERO, entered);
                if has_exit[id] && reentries > Count::ZERO {
                    // The last call of the block came back once more.
                    add(&[], reached, reentries, reentered);
                }
            }
        }
        // The jump at the end of a block is executed as often as its edge is taken.
        let divides_edge =
            block.places.is_empty() && branch_place[id] == Some(jumps[id].map(|jump| jump.0));
        let jump = jumps[id].filter(|(place, ..)| !divides_edge && !code.follows(*place));
        if let Some((place, count, bound)) = jump {
            add(&[place], count, Count::ZERO, bound);
        }
    }
    blocks
}

/// Where the code of each line begins, without jumps.
struct FirstCode {
    /// By scope and line: the smallest column.
    columns: BTreeMap<(u32, u32), u32>,
}

impl FirstCode {
    fn new(map: &FunctionMap) -> FirstCode {
        let mut columns = BTreeMap::new();
        for place in map.blocks.iter().flat_map(|block| &block.places) {
            let column = columns
                .entry((place.scope, place.line))
                .or_insert(place.column);
            *column = place.column.min(*column);
        }
        FirstCode { columns }
    }

    /// Whether the line of a jump has other code, and all of it comes after the jump. Clang places
    /// the jump that ends an arm at the arm's `}`. In `} else if (b) {`, it does not belong to the
    /// code of this line.
    fn follows(&self, jump: Place) -> bool {
        let first = self.columns.get(&(jump.scope, jump.line));
        first.is_some_and(|&column| jump.column != 0 && jump.column < column)
    }
}

/// Bounds of the counts from which the counts of parts are computed.
struct PartBounds {
    /// By block: bound of its inflow.
    inflow: Vec<Bound>,
    /// By block: bound of its outflow.
    outflow: Vec<Bound>,
    /// By block: bound of the code after a call in which a frame may be left.
    after_leak: Vec<Bound>,
}

impl PartBounds {
    fn new(function: &Function) -> PartBounds {
        let (map, bounds) = (&function.map, function.bounds());
        let mut part_bounds = PartBounds {
            inflow: vec![Bound::Exact; map.blocks.len()],
            outflow: vec![Bound::Exact; map.blocks.len()],
            after_leak: vec![Bound::Exact; map.blocks.len()],
        };
        part_bounds.inflow[map.entry as usize] = bounds.calls;
        let edges = map.edges.iter().zip(&bounds.edges);
        for (edge, &bound) in edges.filter(|(edge, _)| edge.kind != EdgeKind::Exit) {
            for sum in [
                &mut part_bounds.inflow[edge.to as usize],
                &mut part_bounds.outflow[edge.from as usize],
            ] {
                *sum = sum.and(bound);
            }
        }
        for &block in &map.leaks {
            part_bounds.after_leak[block as usize] = match function.unit() {
                // A frame that was left is not in any path.
                Unit::Paths => Bound::Exact,
                // A frame that was left counts as if it had run the whole block.
                Unit::Edges => Bound::AtMost,
            };
        }
        part_bounds
    }

    /// The bound of a part that is reached as often as its block is entered.
    fn entered(&self, block: usize) -> Bound {
        self.inflow[block].and(self.after_leak[block])
    }

    /// The bound of a part that is also reached by reentries. Their number is the outflow minus the
    /// inflow.
    fn reentered(&self, block: usize) -> Bound {
        let reentries = self.outflow[block].and(self.inflow[block].opposite());
        self.entered(block).and(reentries)
    }
}

/// Replaces each block without places by its only successor or its only predecessor, if it has one.
fn replace_empty_blocks(blocks: &[Vec<Part>], arcs: &mut Vec<Arc>, exit: usize) {
    let is_empty = |block: usize| {
        let mut places = blocks[block].iter().flat_map(|part| &part.places);
        block != exit && places.all(|place| place.line == 0)
    };
    // By block: the last edge into it and the last edge out of it.
    let mut last_edges: Vec<(Option<usize>, Option<usize>)> = vec![(None, None); blocks.len()];
    let (mut into, mut out) = (vec![0; blocks.len()], vec![0; blocks.len()]);
    for (index, arc) in arcs.iter().enumerate() {
        into[arc.to] += 1;
        out[arc.from] += 1;
        last_edges[arc.to].0 = Some(index);
        last_edges[arc.from].1 = Some(index);
    }
    let mut replacements: Vec<usize> = (0..blocks.len()).collect();
    let mut is_removed = vec![false; arcs.len()];
    for block in (0..blocks.len()).filter(|&block| is_empty(block)) {
        let (edge, neighbor) = match last_edges[block] {
            (_, Some(edge)) if out[block] == 1 => (edge, arcs[edge].to),
            (Some(edge), _) if into[block] == 1 => (edge, arcs[edge].from),
            _ => continue,
        };
        let end = final_replacement(&mut replacements, neighbor);
        if neighbor != exit && end != block {
            replacements[block] = end;
            is_removed[edge] = true;
        }
    }
    for arc in arcs.iter_mut() {
        (arc.from, arc.to) = (
            final_replacement(&mut replacements, arc.from),
            final_replacement(&mut replacements, arc.to),
        );
    }
    let mut is_removed = is_removed.into_iter();
    arcs.retain(|_| !is_removed.next().unwrap_or(false));
}

/// The final replacement of a block. All blocks on the chain to it then point to it directly, so
/// that a chain is followed in full only once.
fn final_replacement(replacements: &mut [usize], block: usize) -> usize {
    let mut end = block;
    while replacements[end] != end {
        end = replacements[end];
    }
    let mut next = block;
    while replacements[next] != end {
        next = std::mem::replace(&mut replacements[next], end);
    }
    end
}
