//! The compiler's information about loops in addition to their graph: their place in the source,
//! and whether they were unrolled, peeled, or vectorized.
//!
//! clang attaches a metadata node to the branch that closes a loop:
//! `!{self, start, end, properties …}`. The start is the place of the keyword, and also of the
//! branch on the loop's own condition, wherever the optimizer moves it. rustc writes no such node.
//! The optimizer adds properties: how many iterations it put before the loop
//! (`llvm.loop.peeled.count`), and that it made several iterations one (`llvm.loop.isvectorized`).
//!
//! The optimizer does not say how often it unrolled a loop. An iteration of an unrolled loop
//! contains each store and call as often as the body was copied, and some number grows by a
//! multiple of that. So the number of copies is the smallest number of times that a place's stores
//! or calls appear in the loop; in a loop without stores and calls, its loads. A branch that
//! appears only once shows that there is one copy: code that appears more often was then copied
//! inside an iteration, as an inner loop that was unrolled completely. The number is a hint for
//! readers of counts, and no count depends on it. Loops of arithmetic alone have no copies here,
//! and a place with two stores in a loop of step two may look like two copies.

use std::collections::{HashMap, HashSet};

use holloway_flow::{BlockId, Dominators, EdgeId, Loops};
use holloway_format::{LoopMap, Place};
use holloway_llvm::{Instruction, Metadata, Opcode};

use crate::lower::{LoweredFunction, Scopes};

/// The loops with a metadata node, by head.
pub(crate) fn loops<'m>(lowered: &LoweredFunction<'m>, scopes: &mut Scopes<'m>) -> Vec<LoopMap> {
    let cfg = &lowered.cfg;
    let natural = Loops::new(cfg, &Dominators::new(cfg));
    let kind = lowered.parts.function.module().metadata_kind("llvm.loop");
    let mut blocks: HashMap<usize, Vec<BlockId>> = HashMap::new();
    for block in cfg.blocks() {
        if let Some(inside) = natural.innermost(block) {
            blocks.entry(inside).or_default().push(block);
        }
    }
    let outer: HashSet<usize> = natural
        .all()
        .iter()
        .filter_map(|natural| natural.parent)
        .collect();
    let mut found: Vec<LoopMap> = Vec::new();
    for (index, natural_loop) in natural.all().iter().enumerate() {
        let closing = natural_loop.back_edges.iter().copied();
        let mut nodes = closing.filter_map(|edge| {
            let mut branches = branches(lowered, edge);
            branches.find_map(|branch| branch.metadata(kind))
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
        let described = LoopMap {
            head: natural_loop.head.0,
            start: properties.start,
            copies,
            peeled: properties.peeled,
            vectorized: properties.vectorized,
            must_progress: properties.must_progress,
        };
        found.push(described);
    }
    found.sort_unstable_by_key(|found| found.head);
    found
}

/// The branch by which an edge leaves its block, if the edge is not inside a block. If that branch
/// is a lone jump, which splitting an edge leaves, also the branch that leads there.
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

/// How often an iteration contains the code of a loop that begins at `start`.
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
        let times = match opcode {
            Opcode::Store => &mut effects,
            Opcode::Call | Opcode::Invoke if instruction.intrinsic().is_none() => &mut effects,
            Opcode::Load => &mut loads,
            Opcode::Br if instruction.successors().len() == 2 => &mut branches,
            _ => continue,
        };
        let location = instruction.location();
        if let Some(place) = location.and_then(|location| scopes.place(location)) {
            // An iteration tests the loop's own condition once, however many copies it has.
            let is_condition = start.is_none_or(|start| is_on_line(place, start));
            if opcode == Opcode::Br && is_condition {
                continue;
            }
            *times.entry((place, opcode)).or_default() += 1;
        }
    }
    let times = if effects.is_empty() { loads } else { effects };
    let copies = times.into_values().min().unwrap_or(1);
    let copies = branches.into_values().fold(copies, u32::min);
    let steps = instructions.iter().any(|instruction| {
        let value = instruction.value();
        let step = || value.operand(1).as_int();
        instruction.opcode() == Opcode::Add
            && step().is_some_and(|step| step != 0 && step % i64::from(copies) == 0)
    });
    if steps { copies } else { 1 }
}

fn is_on_line(place: Place, other: Place) -> bool {
    (place.scope, place.line) == (other.scope, other.line)
}
