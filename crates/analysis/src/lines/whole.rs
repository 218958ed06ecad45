//! A function's blocks as the compiler made them: the parts into which the weaver divides a block,
//! joined again.
//!
//! A block is divided behind calls that may not come back, before calls (traces), and behind calls
//! that return twice. Lines are counted by whole blocks, so that every kind of profile gives the
//! same counts. What the division tells is kept: how often control reached each part, and how often
//! it came to one without having come in at the block's top.
//!
//! One block is added: in front of the entry, on the line of the function's declaration. Some are
//! taken away, those without places (a branch that the compiler made), and those that divide an
//! edge: a jump alone, at the place of the one branch that leads to it. Such a block stands for
//! what it leads to if that is only one block, else for the one block that leads to it.
//!
//! Cost: linear in blocks, edges and places.

use holloway_format::{EdgeKind, EdgeMap, FunctionMap, Outcome, Place};

use super::cycles::Arc;
use crate::flow::{Through, is_before_call};
use crate::run::Function;

/// Places that follow one another, from somewhere where control may have come in or been lost.
#[derive(Debug, Default)]
pub(super) struct Part {
    pub(super) places: Vec<Place>,
    /// Times it was reached.
    pub(super) reached: u64,
    /// Of these, times that a call in front of it came back once more.
    pub(super) again: u64,
}

/// All blocks, each as its parts in order, and the flow between them.
#[derive(Debug)]
pub(super) struct Whole {
    /// By block; the last stands in front of the entry.
    pub(super) blocks: Vec<Vec<Part>>,
    pub(super) arcs: Vec<Arc>,
    /// By block: the edges into it.
    pub(super) into: Vec<Vec<usize>>,
    /// By block: the edges out of it.
    pub(super) out: Vec<Vec<usize>>,
    /// Calls of the function.
    pub(super) calls: u64,
}

impl Whole {
    pub(super) fn new(function: &Function) -> Whole {
        let map = &function.map;
        let flow = function.flow();
        let head = heads(map);
        let mut blocks = parts(function, &head);
        let declaration = Place {
            scope: 0,
            line: map.scopes.first().map_or(0, |scope| scope.line),
            column: 0,
        };
        blocks.push(vec![Part {
            places: vec![declaration],
            reached: flow.calls,
            again: 0,
        }]);
        let front = blocks.len() - 1;
        let mut arcs = vec![Arc {
            from: front,
            to: head[map.entry as usize],
            count: flow.calls,
        }];
        let between = map.edges.iter().zip(&flow.edges);
        let between = between.filter(|(edge, _)| is_between_blocks(edge));
        arcs.extend(between.map(|(edge, &count)| Arc {
            from: head[edge.from as usize],
            to: head[edge.to as usize],
            count: u64::try_from(count).unwrap_or(0),
        }));
        join_empty(&blocks, &mut arcs, map.exit as usize);
        arcs.retain(|arc| arc.to != map.exit as usize);
        let mut into = vec![Vec::new(); blocks.len()];
        let mut out = into.clone();
        for (index, arc) in arcs.iter().enumerate() {
            into[arc.to].push(index);
            out[arc.from].push(index);
        }
        Whole {
            blocks,
            arcs,
            into,
            out,
            calls: flow.calls,
        }
    }

    /// The block in front of the entry.
    pub(super) fn front(&self) -> usize {
        self.blocks.len() - 1
    }
}

/// Whether an edge leads on inside a block that the weaver divided.
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

fn is_between_blocks(edge: &EdgeMap) -> bool {
    edge.kind != EdgeKind::Exit && !is_inside(edge)
}

/// By block of the map: the first part of the block that it is a part of. Parts follow one another.
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

/// The parts of each block, by the first block of the map that is a part of it; none of the others.
fn parts(function: &Function, head: &[usize]) -> Vec<Vec<Part>> {
    let map = &function.map;
    let flow = function.flow();
    let through = Through::new(map, &flow.edges, flow.calls);
    let (mut after_again, mut before_call) =
        (vec![false; map.blocks.len()], vec![false; map.blocks.len()]);
    let mut has_exit = after_again.clone();
    // By block: where the one branch is that leads to it.
    let mut came_from: Vec<Option<Option<Place>>> = vec![None; map.blocks.len()];
    let mut first_into = vec![true; map.blocks.len()];
    let mut jumps: Vec<Option<(Place, u64)>> = vec![None; map.blocks.len()];
    for (edge, &count) in map.edges.iter().zip(&flow.edges) {
        let (from, to) = (edge.from as usize, edge.to as usize);
        after_again[to] |= edge.outcome == Outcome::Again;
        before_call[to] |= is_before_call(edge);
        has_exit[from] |= edge.kind == EdgeKind::Exit;
        came_from[to] = match first_into[to] {
            true => Some(edge.place),
            false => None,
        };
        first_into[to] = false;
        if edge.outcome == Outcome::Jump {
            let count = u64::try_from(count).unwrap_or(0);
            jumps[from] = edge.place.map(|place| (place, count));
        }
    }
    let mut blocks: Vec<Vec<Part>> = (0..map.blocks.len()).map(|_| Vec::new()).collect();
    for (id, block) in map.blocks.iter().enumerate() {
        let (came, again) = (through.came(id), through.again(id));
        let more = came.saturating_add(again);
        let parts = &mut blocks[head[id]];
        let mut add = |places: &[Place], reached, again| {
            parts.push(Part {
                places: places.to_vec(),
                reached,
                again,
            });
        };
        match block.places.split_first() {
            _ if after_again[id] => add(&block.places, more, again),
            // What is behind the call that it begins with is reached as often as that comes back.
            Some((call, behind)) if before_call[id] => {
                add(&[*call], came, 0);
                add(behind, more.saturating_sub(flow.left[id]), again);
            }
            _ => {
                add(&block.places, came, 0);
                if has_exit[id] && again > 0 {
                    // The call that it ends with came back once more.
                    add(&[], more, again);
                }
            }
        }
        // A jump behind a call is run as often as it is taken.
        let divides_edge =
            block.places.is_empty() && came_from[id] == Some(jumps[id].map(|jump| jump.0));
        if let Some((place, count)) = jumps[id].filter(|_| !divides_edge) {
            add(&[place], count, 0);
        }
    }
    blocks
}

/// Puts other blocks in the place of those without places, as far as the flow through these is
/// known.
fn join_empty(blocks: &[Vec<Part>], arcs: &mut Vec<Arc>, exit: usize) {
    let is_empty = |block: usize| {
        let mut places = blocks[block].iter().flat_map(|part| &part.places);
        block != exit && places.all(|place| place.line == 0)
    };
    let mut ways: Vec<(usize, Option<usize>, Option<usize>)> = vec![(0, None, None); blocks.len()];
    let (mut into, mut out) = (vec![0; blocks.len()], vec![0; blocks.len()]);
    for (index, arc) in arcs.iter().enumerate() {
        into[arc.to] += 1;
        out[arc.from] += 1;
        ways[arc.to].1 = Some(index);
        ways[arc.from].2 = Some(index);
    }
    let mut joined: Vec<usize> = (0..blocks.len()).collect();
    let mut inside = vec![false; arcs.len()];
    for block in (0..blocks.len()).filter(|&block| is_empty(block)) {
        let (_, last_into, last_out) = ways[block];
        let (edge, other) = match (last_into, last_out) {
            (_, Some(edge)) if out[block] == 1 => (edge, arcs[edge].to),
            (Some(edge), _) if into[block] == 1 => (edge, arcs[edge].from),
            _ => continue,
        };
        let end = found(&joined, other);
        if other != exit && end != block {
            joined[block] = end;
            inside[edge] = true;
        }
    }
    for arc in arcs.iter_mut() {
        (arc.from, arc.to) = (found(&joined, arc.from), found(&joined, arc.to));
    }
    let mut inside = inside.into_iter();
    arcs.retain(|_| !inside.next().unwrap_or(false));
}

/// The block that stands for another.
fn found(joined: &[usize], mut block: usize) -> usize {
    while joined[block] != block {
        block = joined[block];
    }
    block
}
