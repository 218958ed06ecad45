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
use crate::bounds::Bound;
use crate::flow::{Through, is_before_call};
use crate::run::Function;
use holloway_abi::Unit;

/// Places that follow one another, from somewhere where control may have come in or been lost.
#[derive(Debug, Default)]
pub(super) struct Part {
    pub(super) places: Vec<Place>,
    /// Times it was reached.
    pub(super) reached: u64,
    /// Of these, times that a call in front of it came back once more.
    pub(super) again: u64,
    /// How these two may differ from what ran.
    pub(super) bound: Bound,
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
        let bounds = function.bounds();
        blocks.push(vec![Part {
            places: vec![declaration],
            reached: flow.calls,
            again: 0,
            bound: bounds.calls,
        }]);
        let front = blocks.len() - 1;
        let mut arcs = vec![Arc {
            from: front,
            to: head[map.entry as usize],
            count: flow.calls,
            bound: bounds.calls,
        }];
        let between = map.edges.iter().zip(flow.edges.iter().zip(&bounds.edges));
        let between = between.filter(|(edge, _)| is_between_blocks(edge));
        arcs.extend(between.map(|(edge, (&count, &bound))| Arc {
            from: head[edge.from as usize],
            to: head[edge.to as usize],
            count: u64::try_from(count).unwrap_or(0),
            bound,
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
    let mut jumps: Vec<Option<(Place, u64, Bound)>> = vec![None; map.blocks.len()];
    let known = Known::new(function);
    let bounds = function.bounds();
    let edges = map.edges.iter().zip(&bounds.edges);
    for ((edge, &bound), &count) in edges.zip(&flow.edges) {
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
            jumps[from] = edge.place.map(|place| (place, count, bound));
        }
    }
    let mut blocks: Vec<Vec<Part>> = (0..map.blocks.len()).map(|_| Vec::new()).collect();
    for (id, block) in map.blocks.iter().enumerate() {
        let (came, again) = (through.came(id), through.again(id));
        let more = came.saturating_add(again);
        let parts = &mut blocks[head[id]];
        let mut add = |places: &[Place], reached, again, bound| {
            parts.push(Part {
                places: places.to_vec(),
                reached,
                again,
                bound,
            });
        };
        let (once, all) = (known.once(id), known.again(id));
        match block.places.split_first() {
            _ if after_again[id] => add(&block.places, more, again, all),
            // What is behind the call that it begins with is reached as often as that comes back.
            Some((call, behind)) if before_call[id] => {
                add(&[*call], came, 0, once);
                add(behind, more.saturating_sub(flow.left[id]), again, all);
            }
            _ => {
                add(&block.places, came, 0, once);
                if has_exit[id] && again > 0 {
                    // The call that it ends with came back once more.
                    add(&[], more, again, all);
                }
            }
        }
        // A jump behind a call is run as often as it is taken.
        let divides_edge =
            block.places.is_empty() && came_from[id] == Some(jumps[id].map(|jump| jump.0));
        if let Some((place, count, bound)) = jumps[id].filter(|_| !divides_edge) {
            add(&[place], count, 0, bound);
        }
    }
    blocks
}

/// How the counts that parts are made of may differ from what ran.
struct Known {
    /// By block: of what comes in.
    into: Vec<Bound>,
    /// By block: of what goes on.
    on: Vec<Bound>,
    /// By block: of what is behind a call that a frame may be left in.
    behind: Vec<Bound>,
}

impl Known {
    fn new(function: &Function) -> Known {
        let (map, bounds) = (&function.map, function.bounds());
        let mut known = Known {
            into: vec![Bound::Exact; map.blocks.len()],
            on: vec![Bound::Exact; map.blocks.len()],
            behind: vec![Bound::Exact; map.blocks.len()],
        };
        known.into[map.entry as usize] = bounds.calls;
        let edges = map.edges.iter().zip(&bounds.edges);
        for (edge, &bound) in edges.filter(|(edge, _)| edge.kind != EdgeKind::Exit) {
            for sum in [
                &mut known.into[edge.to as usize],
                &mut known.on[edge.from as usize],
            ] {
                *sum = sum.and(bound);
            }
        }
        for &block in &map.leaks {
            known.behind[block as usize] = match function.unit() {
                // A frame that was left is in no path.
                Unit::Paths => Bound::Exact,
                // It seems to have run all of the block.
                Unit::Edges => Bound::AtMost,
            };
        }
        known
    }

    /// Of a part that is reached as often as its block is entered.
    fn once(&self, block: usize) -> Bound {
        self.into[block].and(self.behind[block])
    }

    /// Of a part that is also reached again: the oftener, the more goes on and the less comes in.
    fn again(&self, block: usize) -> Bound {
        let again = self.on[block].and(self.into[block].opposite());
        self.once(block).and(again)
    }
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
        let end = found(&mut joined, other);
        if other != exit && end != block {
            joined[block] = end;
            inside[edge] = true;
        }
    }
    for arc in arcs.iter_mut() {
        (arc.from, arc.to) = (found(&mut joined, arc.from), found(&mut joined, arc.to));
    }
    let mut inside = inside.into_iter();
    arcs.retain(|_| !inside.next().unwrap_or(false));
}

/// The block that stands for another. All on the way there then lead to it at once, so that a chain
/// is followed in full only once.
fn found(joined: &mut [usize], block: usize) -> usize {
    let mut end = block;
    while joined[end] != end {
        end = joined[end];
    }
    let mut at = block;
    while joined[at] != end {
        at = std::mem::replace(&mut joined[at], end);
    }
    end
}
