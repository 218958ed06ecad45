//! The edges of the graph: their outcomes, and the sites of their probes.

use std::collections::{HashMap, HashSet};

use holloway_flow::{BlockId, Edge, EdgeKind};
use holloway_format::Outcome;
use holloway_llvm::{Block, Instruction, Location, Metadata, Opcode};

use super::block_index::BlockIndex;
use super::function_parts::{BlockInfo, FunctionParts, Part, Target};

/// What the weaver knows about an edge of the graph besides its two blocks.
#[derive(Clone, Copy)]
pub(crate) struct EdgeInfo<'m> {
    pub(crate) outcome: Outcome,
    /// The debug location of the branch or call.
    pub(crate) location: Option<Location<'m>>,
    pub(crate) site: Site,
}

/// The site of an edge's probe: a block, and the instruction before which the probe is inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Site {
    /// The probe is at the top of the edge's target, which has no other predecessor.
    Top { block: BlockIndex },
    /// The probe is in the edge's source, which has no other successor or leaves the function.
    Bottom { block: BlockIndex, index: usize },
    /// The probe is inside a block that is cut. Actions that end a path are inserted before one
    /// instruction, and actions that start the next path before another.
    Inside {
        block: BlockIndex,
        path_ends_at: usize,
        path_starts_at: usize,
    },
    /// The probe of an exit edge is before an instruction inside a block. Control passes the probe
    /// whether or not it then takes the edge.
    At { block: BlockIndex, index: usize },
    /// The edge can carry no probe.
    None,
}

/// All edges, in the order in which control reaches their probes: a part's exit edge comes before
/// the part's other edges. `exits` has, by part, the instruction before which the probe of the
/// part's exit edge is inserted. `exit` is the virtual exit block.
pub(super) fn edges<'m>(
    parts: &FunctionParts<'m>,
    nodes: &[Part],
    exits: &[Option<usize>],
    exit: BlockId,
) -> Vec<(Edge, EdgeInfo<'m>)> {
    let exit_edge = |block: BlockIndex, node: BlockId| {
        let index = exits[node.index()]?;
        let site = Site::At { block, index };
        let info = EdgeInfo {
            outcome: Outcome::Left,
            location: parts.blocks[block].instructions[index].location(),
            site,
        };
        Some((edge(node, exit, site), info))
    };
    // By block. The ids of a block's parts are consecutive.
    let mut first_part = vec![BlockId(0); parts.blocks.len()];
    for (id, node) in (0u32..).zip(nodes) {
        if node.cuts_before == 0 {
            first_part[node.block] = BlockId(id);
        }
    }
    let mut edges = Vec::new();
    for (index, block) in BlockIndex::enumerate(&parts.blocks) {
        let mut node = first_part[index];
        for cut in &block.cuts {
            edges.extend(exit_edge(index, node));
            let site = match cut.outcome {
                Outcome::Returned => Site::Bottom {
                    block: index,
                    index: cut.path_starts_at,
                },
                _ => Site::Inside {
                    block: index,
                    path_ends_at: cut.path_ends_at,
                    path_starts_at: cut.path_starts_at,
                },
            };
            let location = block.instructions[cut.path_ends_at].location();
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
        edges.extend(exit_edge(index, node));
        match block.block_exit {
            Some(block_exit) => {
                let site = Site::Bottom {
                    block: index,
                    index: block_exit.index,
                };
                let location = block.instructions[block_exit.index].location();
                edges.push((
                    edge(node, exit, site),
                    EdgeInfo {
                        outcome: block_exit.outcome,
                        location,
                        site,
                    },
                ));
            }
            None => edges.extend(block.targets.iter().map(|&target| {
                branch(parts, index, block, node, target, first_part[target.block])
            })),
        }
    }
    edges
}

/// The edge from the last part of a block to the first part of another.
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
        Opcode::Br if target.first_successor == 0 => Outcome::True,
        Opcode::Br => Outcome::False,
        Opcode::Switch => terminator
            .case_value(target.first_successor)
            .map_or(Outcome::Default, Outcome::Case),
        Opcode::Invoke if target.first_successor == 0 => Outcome::Normal,
        Opcode::Invoke => Outcome::Unwind,
        Opcode::IndirectBr => Outcome::Indirect,
        Opcode::CallBr if target.first_successor == 0 => Outcome::Normal,
        Opcode::CallBr => Outcome::AsmGoto,
        _ => Outcome::Jump,
    }
}

/// The parts that almost never run:
/// - parts that end in a call that does not return, or in unwinding;
/// - parts to which unwinding leads;
/// - parts that are unlikely by the compiler's branch weights.
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
    let edges_to_unlikely = edges
        .iter()
        .zip(infos)
        .filter(|(_, info)| matches!(info.site, Site::Top { block } if unlikely.contains(&block)));
    cold.extend(edges_to_unlikely.map(|(edge, _)| edge.to));
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
        // Parallel edges are one edge of the graph, so their weights are added.
        let mut weight_to: HashMap<Block<'_>, u64> = HashMap::new();
        for (successor, weight) in successors.into_iter().zip(weights) {
            *weight_to.entry(successor).or_default() += weight;
        }
        for target in &block.targets {
            let info = &parts.blocks[target.block];
            let weight = weight_to.get(&info.block).copied().unwrap_or(0);
            if info.sources.len() == 1 && weight.saturating_mul(COLD_SHARE) < total {
                unlikely.insert(target.block);
            }
        }
    }
    unlikely
}

/// Reads the weights of a metadata node `!{!"branch_weights", i32 …}`. Newer compilers put the
/// string `!"expected"` before the first weight.
fn branch_weights(node: Metadata<'_>) -> Option<Vec<u64>> {
    let mut operands = node.operands().into_iter().flatten().peekable();
    if operands.next()?.as_string()? != "branch_weights" {
        return None;
    }
    operands.next_if(|operand| operand.as_string().is_some());
    // The weights are unsigned 32-bit numbers, but the C API sign-extends them.
    operands
        .map(|operand| operand.as_int().map(|weight| weight & 0xFFFF_FFFF))
        .collect()
}

/// An edge whose kind follows from the site of its probe.
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
