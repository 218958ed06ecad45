//! Reads the compiler's information about loops: their place in the source, and whether they were
//! unrolled, peeled, or vectorized.
//!
//! clang attaches a metadata node to the branch that closes a loop:
//! `!{self, start, end, properties …}`. `start` is the place of the loop's keyword. The branch on
//! the loop's condition has the same place, wherever the optimizer moves it. rustc writes no such
//! node. The optimizer adds properties: how many iterations it moved before the loop
//! (`llvm.loop.peeled.count`), and that it merged several iterations into one
//! (`llvm.loop.isvectorized`).
//!
//! The optimizer does not record how often it copied the body of an unrolled loop, so the number of
//! copies is estimated:
//! - One iteration of the unrolled loop contains each store and call of the source once per copy.
//!   So the number of copies is at most the smallest number of stores or calls with the same place.
//!   In a loop without stores and calls, loads are counted.
//! - Some number in the loop must grow by a multiple of the number of copies.
//! - If a branch appears only once, there is only one copy. Code that appears more often was then
//!   copied inside an iteration: an inner loop was unrolled completely.
//!
//! The estimate is a hint for the user, and no count depends on it. A loop that only calculates
//! gets the estimate 1. A loop of step two with two stores at one place may get the estimate 2.

use std::collections::{HashMap, HashSet};

use holloway_flow::{BlockId, Dominators, EdgeId, Loops};
use holloway_format::{LoopMap, Place};
use holloway_llvm::{Instruction, Metadata, Opcode};

use crate::lower::{LoweredFunction, Scopes};

/// The loops with a metadata node, in order of their heads.
pub(crate) fn loops<'m>(lowered: &LoweredFunction<'m>, scopes: &mut Scopes<'m>) -> Vec<LoopMap> {
    let cfg = &lowered.cfg;
    let natural = Loops::new(cfg, &Dominators::new(cfg));
    let loop_metadata = lowered.parts.function.module().metadata_kind("llvm.loop");
    // Inner loops' blocks are not listed for the outer loops.
    let mut blocks: HashMap<usize, Vec<BlockId>> = HashMap::new();
    for block in cfg.blocks() {
        if let Some(innermost) = natural.innermost(block) {
            blocks.entry(innermost).or_default().push(block);
        }
    }
    let outer: HashSet<usize> = natural
        .all()
        .iter()
        .filter_map(|natural| natural.parent)
        .collect();
    let mut loop_maps: Vec<LoopMap> = Vec::new();
    for (index, natural_loop) in natural.all().iter().enumerate() {
        let closing = natural_loop.back_edges.iter().copied();
        let mut nodes = closing.filter_map(|edge| {
            let mut branches = branches(lowered, edge);
            branches.find_map(|branch| branch.metadata(loop_metadata))
        });
        let Some(node) = nodes.next() else {
            continue;
        };
        let properties = Properties::read(node, scopes);
        // The optimizer does not unroll loops around other loops. Code that appears there more than
        // once was copied inside an iteration.
        let copies = match outer.contains(&index) {
            true => 1,
            false => copies(lowered, &blocks[&index], properties.start, scopes),
        };
        loop_maps.push(LoopMap {
            head: natural_loop.head.0,
            start: properties.start,
            copies,
            peeled: properties.peeled,
            vectorized: properties.vectorized,
            must_progress: properties.must_progress,
        });
    }
    loop_maps.sort_unstable_by_key(|loop_map| loop_map.head);
    loop_maps
}

/// The branches that may carry the metadata of the loop that `edge` closes. The first is the branch
/// at the end of the edge's source, unless the edge is inside a block. If the source is only a
/// jump, as on a split edge, the second is the branch that leads to the source.
fn branches<'m>(
    lowered: &LoweredFunction<'m>,
    edge: EdgeId,
) -> impl Iterator<Item = Instruction<'m>> {
    let cfg = &lowered.cfg;
    let branch = |edge: EdgeId| {
        let node = lowered.nodes[cfg.edge(edge).from.index()];
        let block = &lowered.parts.blocks[node.block];
        (node.to == block.instructions.len()).then(|| block.terminator())
    };
    let from = cfg.edge(edge).from;
    let node = lowered.nodes[from.index()];
    let before = match *cfg.predecessors(from) {
        [before] if node.to - node.from == 1 => branch(before),
        _ => None,
    };
    branch(edge).into_iter().chain(before)
}

/// The content of a loop's metadata node.
struct Properties {
    start: Option<Place>,
    peeled: u32,
    vectorized: bool,
    must_progress: bool,
}

impl Properties {
    fn read<'m>(node: Metadata<'m>, scopes: &mut Scopes<'m>) -> Properties {
        let mut properties = Properties {
            start: None,
            peeled: 0,
            vectorized: false,
            must_progress: false,
        };
        // The first operand is the node itself.
        for operand in node.operands().into_iter().skip(1).flatten() {
            if let Some(location) = operand.as_location() {
                // The second location is the loop's end.
                properties.start = properties.start.or_else(|| scopes.place(location));
                continue;
            }
            let Some(name) = operand.operand(0).and_then(Metadata::as_string) else {
                continue;
            };
            let number = || operand.operand(1).and_then(Metadata::as_int);
            match name.as_str() {
                "llvm.loop.peeled.count" => {
                    properties.peeled =
                        number().map_or(0, |count| count.min(u32::MAX.into()) as u32);
                }
                "llvm.loop.mustprogress" => properties.must_progress = true,
                "llvm.loop.isvectorized" => properties.vectorized = number() == Some(1),
                _ => {}
            }
        }
        properties
    }
}

/// The estimated number of copies of a loop's body in one iteration (see the module's description).
/// `start` is the place of the loop's keyword.
fn copies<'m>(
    lowered: &LoweredFunction<'m>,
    blocks: &[BlockId],
    start: Option<Place>,
    scopes: &mut Scopes<'m>,
) -> u32 {
    let nodes = blocks.iter().map(|block| lowered.nodes[block.index()]);
    let instructions: Vec<Instruction<'m>> = nodes
        .flat_map(|node| &lowered.parts.blocks[node.block].instructions[node.from..node.to])
        .copied()
        .collect();
    let mut effects: HashMap<(Place, Opcode), u32> = HashMap::new();
    let (mut loads, mut branches) = (effects.clone(), effects.clone());
    for &instruction in &instructions {
        let opcode = instruction.opcode();
        let occurrences = match opcode {
            Opcode::Store => &mut effects,
            Opcode::Call | Opcode::Invoke if instruction.intrinsic().is_none() => &mut effects,
            Opcode::Load => &mut loads,
            Opcode::Br if instruction.successors().len() == 2 => &mut branches,
            _ => continue,
        };
        let location = instruction.location();
        if let Some(place) = location.and_then(|location| scopes.place(location)) {
            // The test of the loop's condition does not count: one iteration may test it only once,
            // even with several copies.
            let is_condition = start.is_none_or(|start| is_on_line(place, start));
            if opcode == Opcode::Br && is_condition {
                continue;
            }
            *occurrences.entry((place, opcode)).or_default() += 1;
        }
    }
    let occurrences = if effects.is_empty() { loads } else { effects };
    let copies = occurrences.into_values().min().unwrap_or(1);
    let copies = branches.into_values().fold(copies, u32::min);
    let is_step_multiple = instructions.iter().any(|instruction| {
        let value = instruction.value();
        let step = || value.operand(1).as_int();
        instruction.opcode() == Opcode::Add
            && step().is_some_and(|step| step != 0 && step % i64::from(copies) == 0)
    });
    if is_step_multiple { copies } else { 1 }
}

fn is_on_line(place: Place, other: Place) -> bool {
    (place.scope, place.line) == (other.scope, other.line)
}
