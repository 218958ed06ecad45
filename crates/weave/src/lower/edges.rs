//! The edges of the graph: what they stand for and where their probes go.

use holloway_flow::{BlockId, Edge};
use holloway_format::Outcome;
use holloway_llvm::{Instruction, Opcode};

use super::blocks::{BlockInfo, Layout, Node, Target};
use super::{EdgeInfo, Site, edge};

/// All edges, in order of the blocks they leave.
pub(super) fn edges<'m>(
    layout: &Layout<'m>,
    nodes: &[Node],
    exit: BlockId,
) -> Vec<(Edge, EdgeInfo<'m>)> {
    // The first node of each block; a block's nodes follow one another.
    let mut first = vec![BlockId(0); layout.blocks.len()];
    for (id, node) in (0u32..).zip(nodes) {
        if node.from == 0 && (id == 0 || nodes[id as usize - 1].block != node.block) {
            first[node.block] = BlockId(id);
        }
    }
    let mut edges = Vec::new();
    for (index, block) in layout.blocks.iter().enumerate() {
        let mut node = first[index];
        for cut in &block.cuts {
            let site = Site::Inside {
                block: index,
                before: cut.before,
                after: cut.after,
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
                    .map(|&target| branch(layout, index, block, node, target, first[target.block])),
            ),
        }
    }
    edges
}

fn branch<'m>(
    layout: &Layout<'m>,
    index: usize,
    block: &BlockInfo<'m>,
    from: BlockId,
    target: Target,
    to: BlockId,
) -> (Edge, EdgeInfo<'m>) {
    let last = block.instructions.len() - 1;
    let terminator = block.instructions[last];
    let site = if layout.blocks[target.block].sources.len() == 1 {
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

/// Nodes that leave by not returning or unwinding, and those that unwinding leads to.
pub(super) fn cold_nodes(edges: &[Edge], infos: &[EdgeInfo<'_>]) -> Vec<BlockId> {
    let mut cold: Vec<BlockId> = edges
        .iter()
        .zip(infos)
        .filter_map(|(edge, info)| match info.outcome {
            Outcome::Noreturn | Outcome::Resume => Some(edge.from),
            Outcome::Unwind => Some(edge.to),
            _ => None,
        })
        .collect();
    cold.sort_unstable();
    cold.dedup();
    cold
}
