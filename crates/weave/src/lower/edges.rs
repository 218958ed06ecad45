//! The edges of the graph: their kinds, and the places of their probes.

use std::collections::{HashMap, HashSet};

use holloway_flow::{BlockId, Edge, EdgeKind};
use holloway_format::Outcome;
use holloway_llvm::{Block, Instruction, Location, Metadata, Opcode};

use super::block_index::BlockIndex;
use super::function_parts::{BlockInfo, FunctionParts, Part, Target};

/// The kind of an edge of the graph.
#[derive(Clone, Copy)]
pub(crate) struct EdgeInfo<'m> {
    pub(crate) outcome: Outcome,
    /// Debug location of the branch.
    pub(crate) location: Option<Location<'m>>,
    pub(crate) site: Site,
}

/// The place of a probe on an edge: a block, and the instruction before which the probe stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Site {
    /// At the top of the target, which has no other predecessor.
    Top { block: BlockIndex },
    /// In the source, which has no other way out, or leaves the function there.
    Bottom { block: BlockIndex, index: usize },
    /// Inside a block: actions that end a path stand before one instruction, actions that start the
    /// next before another.
    Inside {
        block: BlockIndex,
        before: usize,
        after: usize,
    },
    /// Before an instruction inside a block, for an exit edge. Control passes the place whether or
    /// not it then takes the edge.
    At { block: BlockIndex, index: usize },
    /// The edge has no place for a probe.
    None,
}

/// All edges, in the order in which control reaches their probes: a part's exit edge comes
/// before its other edges. `exits` has, by part, the instruction before which its exit edge
/// stands.
pub(super) fn edges<'m>(
    parts: &FunctionParts<'m>,
    nodes: &[Part],
    exits: &[Option<usize>],
    exit: BlockId,
) -> Vec<(Edge, EdgeInfo<'m>)> {
    let left = |block: BlockIndex, node: BlockId| {
        let index = exits[node.index()]?;
        let site = Site::At { block, index };
        let info = EdgeInfo {
            outcome: Outcome::Left,
            location: parts.blocks[block].instructions[index].location(),
            site,
        };
        Some((edge(node, exit, site), info))
    };
    // The first part of each block. A block's parts follow one another.
    let mut first = vec![BlockId(0); parts.blocks.len()];
    for (id, node) in (0u32..).zip(nodes) {
        if node.place == 0 {
            first[node.block] = BlockId(id);
        }
    }
    let mut edges = Vec::new();
    for (index, block) in BlockIndex::enumerate(&parts.blocks) {
        let mut node = first[index];
        for cut in &block.cuts {
            edges.extend(left(index, node));
            let site = match cut.outcome {
                Outcome::Returned => Site::Bottom {
                    block: index,
                    index: cut.after,
                },
                _ => Site::Inside {
                    block: index,
                    before: cut.before,
                    after: cut.after,
                },
            };
            let location = block.instructions[cut.before].location();
            let next = BlockId(node.0 + 1);
            edges.push((
                edge(node, next, site),
                EdgeInfo {
                    outcome: cut.outcome,
                    location,
                    site,
                },
            ));
            node = next;
        }
        edges.extend(left(index, node));
        match block.leave {
            Some(leave) => {
                let site = Site::Bottom {
                    block: index,
                    index: leave.index,
                };
                let location = block.instructions[leave.index].location();
                edges.push((
                    edge(node, exit, site),
                    EdgeInfo {
                        outcome: leave.outcome,
                        location,
                        site,
                    },
                ));
            }
            None => edges.extend(
                block
                    .targets
                    .iter()
                    .map(|&target| branch(parts, index, block, node, target, first[target.block])),
            ),
        }
    }
    edges
}

fn branch<'m>(
    parts: &FunctionParts<'m>,
    index: BlockIndex,
    block: &BlockInfo<'m>,
    from: BlockId,
    target: Target,
    to: BlockId,
) -> (Edge, EdgeInfo<'m>) {
    let last = block.instructions.len() - 1;
    let terminator = block.instructions[last];
    let site = if parts.blocks[target.block].sources.len() == 1 {
        Site::Top {
            block: target.block,
        }
    } else if block.targets.len() == 1 {
        Site::Bottom {
            block: index,
            index: last,
        }
    } else {
        Site::None
    };
    let outcome = outcome(terminator, block, target);
    (
        edge(from, to, site),
        EdgeInfo {
            outcome,
            location: terminator.location(),
            site,
        },
    )
}

fn outcome(terminator: Instruction<'_>, block: &BlockInfo<'_>, target: Target) -> Outcome {
    match terminator.opcode() {
        _ if block.targets.len() == 1 && terminator.opcode() == Opcode::Br => Outcome::Jump,
        Opcode::Br if target.first == 0 => Outcome::True,
        Opcode::Br => Outcome::False,
        Opcode::Switch => terminator
            .case_value(target.first)
            .map_or(Outcome::Default, Outcome::Case),
        Opcode::Invoke if target.first == 0 => Outcome::Normal,
        Opcode::Invoke => Outcome::Unwind,
        Opcode::IndirectBr => Outcome::Indirect,
        Opcode::CallBr if target.first == 0 => Outcome::Normal,
        Opcode::CallBr => Outcome::AsmGoto,
        _ => Outcome::Jump,
    }
}

/// Parts that almost never run. They end in a call that does not return or in unwinding, or
/// unwinding leads to them, or the compiler's branch weights call them unlikely.
pub(super) fn cold_nodes(
    parts: &FunctionParts<'_>,
    edges: &[Edge],
    infos: &[EdgeInfo<'_>],
) -> Vec<BlockId> {
    let mut cold: Vec<BlockId> = edges
        .iter()
        .zip(infos)
        .filter_map(|(edge, info)| match info.outcome {
            Outcome::Noreturn | Outcome::Resume => Some(edge.from),
            Outcome::Unwind => Some(edge.to),
            _ => None,
        })
        .collect();
    let unlikely = unlikely_blocks(parts);
    let into = edges
        .iter()
        .zip(infos)
        .filter(|(_, info)| matches!(info.site, Site::Top { block } if unlikely.contains(&block)));
    cold.extend(into.map(|(edge, _)| edge.to));
    cold.sort_unstable();
    cold.dedup();
    cold
}

/// An edge is cold if control takes it less often than once in this many times. `__builtin_expect`
/// gives 1 in 2,000.
const COLD_SHARE: u64 = 256;

/// Blocks whose only incoming edge has a negligible branch weight.
fn unlikely_blocks(parts: &FunctionParts<'_>) -> HashSet<BlockIndex> {
    let kind = parts.function.module().metadata_kind("prof");
    let mut unlikely = HashSet::new();
    for block in parts.blocks.iter().filter(|block| block.targets.len() > 1) {
        let terminator = block.terminator();
        let Some(weights) = terminator.metadata(kind).and_then(branch_weights) else {
            continue;
        };
        let successors = terminator.successors();
        if successors.len() != weights.len() {
            continue;
        }
        let total: u64 = weights.iter().sum();
        let mut parallel: HashMap<Block<'_>, u64> = HashMap::new();
        for (successor, weight) in successors.into_iter().zip(weights) {
            *parallel.entry(successor).or_default() += weight;
        }
        for target in &block.targets {
            let info = &parts.blocks[target.block];
            let weight = parallel.get(&info.block).copied().unwrap_or(0);
            if info.sources.len() == 1 && weight.saturating_mul(COLD_SHARE) < total {
                unlikely.insert(target.block);
            }
        }
    }
    unlikely
}

/// The weights of `!{!"branch_weights", i32 …}`; newer compilers put `!"expected"` before the
/// first.
fn branch_weights(node: Metadata<'_>) -> Option<Vec<u64>> {
    let mut operands = node.operands().into_iter().flatten().peekable();
    if operands.next()?.as_string()? != "branch_weights" {
        return None;
    }
    operands.next_if(|operand| operand.as_string().is_some());
    // These are 32-bit numbers that the C API sign-extends.
    operands
        .map(|operand| operand.as_int().map(|weight| weight & 0xFFFF_FFFF))
        .collect()
}

/// An edge whose kind follows from its probe's place.
fn edge(from: BlockId, to: BlockId, site: Site) -> Edge {
    let kind = match site {
        Site::None => EdgeKind::Pinned,
        Site::Inside { .. } => EdgeKind::Cut,
        Site::At { .. } => EdgeKind::Exit,
        Site::Top { .. } | Site::Bottom { .. } => EdgeKind::Plain,
    };
    Edge { from, to, kind }
}

/// An edge's kind as the path map stores it.
pub(crate) fn map_kind(kind: EdgeKind) -> holloway_format::EdgeKind {
    match kind {
        EdgeKind::Plain => holloway_format::EdgeKind::Plain,
        EdgeKind::Pinned => holloway_format::EdgeKind::Pinned,
        EdgeKind::Cut => holloway_format::EdgeKind::Cut,
        EdgeKind::Exit => holloway_format::EdgeKind::Exit,
    }
}
