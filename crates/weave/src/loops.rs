//! What the compiler says of loops besides their graph: where they begin in the source, and what of
//! them was unrolled, peeled, or vectorized.
//!
//! clang puts a node of metadata on the branch that closes a loop: `!{self, start, end, properties
//! …}`. The start is the place of the keyword, and also that of the branch on the loop's own
//! condition, wherever the optimizer moves it. rustc writes no such node. The optimizer adds
//! properties: how many turns it put before the loop (`llvm.loop.peeled.count`), and that it made
//! several iterations one (`llvm.loop.isvectorized`).
//!
//! It does not say by how much it unrolled a loop. In a turn of an unrolled loop each store and
//! call stands as often as its body was copied, and a number grows by a multiple of that (the
//! loop's own, or the one that counts turns). So the copies are the least number of times that a
//! place's stores or calls stand in a loop; without such, its loads. A branch that stands there
//! once says that there is one copy: what stands more often was copied inside a turn, as an inner
//! loop that was unrolled whole. The number is a hint to the reader of counts, and no count uses
//! it: loops of arithmetic alone have no copies here, and a place that makes two stores in a loop
//! of step two may look like two copies.

use std::collections::{HashMap, HashSet};

use holloway_flow::{BlockId, Dominators, EdgeId, Loops};
use holloway_format::{LoopMap, Place};
use holloway_llvm::{Instruction, Metadata, Opcode};

use crate::lower::{LoweredFunction, Scopes};

/// The loops that there is something to say of, by head.
pub(crate) fn loops<'m>(lowered: &LoweredFunction<'m>, scopes: &mut Scopes<'m>) -> Vec<LoopMap> {
    let cfg = &lowered.cfg;
    let natural = Loops::new(cfg, &Dominators::new(cfg));
    let kind = lowered.layout.function.module().metadata_kind("llvm.loop");
    let mut blocks: HashMap<usize, Vec<BlockId>> = HashMap::new();
    for block in cfg.blocks() {
        if let Some(inside) = natural.innermost(block) {
            blocks.entry(inside).or_default().push(block);
        }
    }
    let outer: HashSet<usize> = natural.all().iter().filter_map(|one| one.parent).collect();
    let mut found: Vec<LoopMap> = Vec::new();
    for (index, one) in natural.all().iter().enumerate() {
        let closing = one.back_edges.iter().copied();
        let mut nodes = closing.filter_map(|edge| {
            let mut branches = branches(lowered, edge);
            branches.find_map(|branch| branch.metadata(kind))
        });
        let Some(node) = nodes.next() else {
            continue;
        };
        let said = Properties::of(node, scopes);
        // The optimizer leaves loops around other loops as they are; what stands in them more than
        // once was copied inside a turn.
        let copies = match outer.contains(&index) {
            true => 1,
            false => copies(lowered, &blocks[&index], said.start, scopes),
        };
        let described = LoopMap {
            head: one.head.0,
            start: said.start,
            copies,
            peeled: said.peeled,
            vectorized: said.vectorized,
            must_progress: said.must_progress,
        };
        found.push(described);
    }
    found.sort_unstable_by_key(|one| one.head);
    found
}

/// The branch that an edge leaves its block by, if it isn't inside a block; and where that is a
/// jump alone, which splitting an edge leaves, the branch that leads there.
fn branches<'m>(
    lowered: &LoweredFunction<'m>,
    edge: EdgeId,
) -> impl Iterator<Item = Instruction<'m>> {
    let cfg = &lowered.cfg;
    let branch = |edge: EdgeId| {
        let node = lowered.nodes[cfg.edge(edge).from.index()];
        let block = &lowered.layout.blocks[node.block];
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

/// What a loop's node of metadata says.
struct Properties {
    start: Option<Place>,
    peeled: u32,
    vectorized: bool,
    must_progress: bool,
}

impl Properties {
    fn of<'m>(node: Metadata<'m>, scopes: &mut Scopes<'m>) -> Properties {
        let mut said = Properties {
            start: None,
            peeled: 0,
            vectorized: false,
            must_progress: false,
        };
        // The first operand is the node itself.
        for operand in node.operands().into_iter().skip(1).flatten() {
            if let Some(location) = operand.as_location() {
                // The second location is the loop's end.
                said.start = said.start.or_else(|| scopes.place(location));
                continue;
            }
            let Some(name) = operand.operand(0).and_then(Metadata::as_string) else {
                continue;
            };
            let number = || operand.operand(1).and_then(Metadata::as_int);
            match name.as_str() {
                "llvm.loop.peeled.count" => {
                    said.peeled = number().map_or(0, |count| count.min(u32::MAX.into()) as u32);
                }
                "llvm.loop.mustprogress" => said.must_progress = true,
                "llvm.loop.isvectorized" => said.vectorized = number() == Some(1),
                _ => {}
            }
        }
        said
    }
}

/// How often the code of a loop that begins at `start` stands in a turn of it.
fn copies<'m>(
    lowered: &LoweredFunction<'m>,
    blocks: &[BlockId],
    start: Option<Place>,
    scopes: &mut Scopes<'m>,
) -> u32 {
    let nodes = blocks.iter().map(|block| lowered.nodes[block.index()]);
    let instructions: Vec<Instruction<'m>> = nodes
        .flat_map(|node| &lowered.layout.blocks[node.block].instructions[node.from..node.to])
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
            // The loop's own condition is tested once in a turn, however many copies it has.
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
