//! Cuts a function's blocks into parts, and finds where each block leaves the function.
//! [`super::function`] explains where blocks are cut.

use std::collections::HashMap;

use super::block_index::BlockIndex;
use super::calls::{CallAttributes, calls};
use super::options::{ExitEdges, LoweringOptions};
use holloway_abi::PathEnds;
use holloway_format::Outcome;
use holloway_llvm::{Block, Function, Instruction, Opcode, TailKind};

use crate::reason::Reason;

/// A node of the graph: the instructions `from..to` of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) block: BlockIndex,
    /// The number of cuts before the part in its block.
    pub(crate) cuts_before: usize,
    pub(crate) from: usize,
    pub(crate) to: usize,
}

/// A position at which a block is cut in two. A path ends there and another starts, except after a
/// call that came back ([`Outcome::Returned`]): there the path continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// The first path ends before this instruction. If the path continues, it does so here.
    pub(crate) path_ends_at: usize,
    /// The next path starts before this instruction. Between both positions is at most one call,
    /// which returns twice.
    pub(crate) path_starts_at: usize,
    pub(crate) outcome: Outcome,
}

/// Where a block leaves the function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockExit {
    /// The probe that counts the path is inserted before this instruction.
    pub(crate) index: usize,
    pub(crate) outcome: Outcome,
}

/// An LLVM block with its cuts and its edges.
pub(crate) struct BlockInfo<'m> {
    pub(crate) block: Block<'m>,
    pub(crate) instructions: Vec<Instruction<'m>>,
    /// The index of the first instruction after the phis and the landing pad.
    pub(crate) top: usize,
    pub(crate) cuts: Vec<Cut>,
    pub(crate) block_exit: Option<BlockExit>,
    /// The distinct blocks that this block leads to. Empty if the block leaves the function.
    pub(crate) targets: Vec<Target>,
    /// The distinct blocks that lead to this block.
    pub(crate) sources: Vec<BlockIndex>,
}

impl<'m> BlockInfo<'m> {
    /// The last instruction.
    pub(crate) fn terminator(&self) -> Instruction<'m> {
        *self.instructions.last().expect("blocks aren't empty")
    }
}

/// All parallel edges from one block to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) block: BlockIndex,
    /// The number of the terminator's first successor that is this block.
    pub(crate) first_successor: u32,
}

/// A function's blocks, with the cuts that divide them into parts.
pub(crate) struct FunctionParts<'m> {
    pub(crate) function: Function<'m>,
    pub(crate) blocks: Vec<BlockInfo<'m>>,
}

impl<'m> FunctionParts<'m> {
    pub(crate) fn new(
        function: Function<'m>,
        attributes: &CallAttributes,
        options: LoweringOptions<'_>,
    ) -> Result<Self, Reason> {
        let blocks: Vec<Block<'m>> = function.blocks().collect();
        let position: HashMap<Block<'m>, BlockIndex> = BlockIndex::enumerate(&blocks)
            .map(|(index, &block)| (block, index))
            .collect();
        let mut infos = Vec::with_capacity(blocks.len());
        for (index, &block) in BlockIndex::enumerate(&blocks) {
            let end = match options.blocks_to_cut.contains(&index) {
                true => BlockEnd::Cut,
                false => BlockEnd::NotCut,
            };
            infos.push(block_info(block, &position, attributes, end, options)?);
        }
        for source in BlockIndex::all(infos.len()) {
            for target in infos[source].targets.clone() {
                infos[target.block].sources.push(source);
            }
        }
        Ok(Self {
            function,
            blocks: infos,
        })
    }

    /// All parts, block by block. Part 0 is the first part of the entry block.
    pub(crate) fn parts(&self) -> Vec<Part> {
        let mut nodes = Vec::with_capacity(self.blocks.len());
        for (block, info) in BlockIndex::enumerate(&self.blocks) {
            let mut from = 0;
            for (cuts_before, cut) in info.cuts.iter().enumerate() {
                // A call that returns twice runs in the part before the cut.
                nodes.push(Part {
                    block,
                    cuts_before,
                    from,
                    to: cut.path_starts_at,
                });
                from = cut.path_starts_at;
            }
            // Code after a call that doesn't return never runs.
            let to = match info.block_exit {
                Some(block_exit) if block_exit.outcome == Outcome::Noreturn => block_exit.index + 1,
                _ => info.instructions.len(),
            };
            nodes.push(Part {
                block,
                cuts_before: info.cuts.len(),
                from,
                to,
            });
        }
        nodes
    }

    /// By part: the first instruction in which control may leave the path for good, before the path
    /// ends or continues with the next part. If paths end at calls, this is the first call: the
    /// word of a path that starts with a call comes after the callee's words in the stream.
    pub(crate) fn leaks(
        &self,
        parts: &[Part],
        attributes: &CallAttributes,
        options: LoweringOptions<'_>,
    ) -> Vec<Option<usize>> {
        let may_leave_path = |instruction| match options.path_ends {
            PathEnds::Calls => calls(instruction),
            PathEnds::Iterations => attributes.may_leave(instruction),
        };
        let leak = |part: &Part| {
            let info = &self.blocks[part.block];
            // Nothing can leave the path after its end.
            let end = match (info.cuts.get(part.cuts_before), info.block_exit) {
                (Some(cut), _) => cut.path_ends_at,
                (None, Some(block_exit)) => block_exit.index,
                (None, None) => part.to,
            };
            (part.from..end).find(|&index| may_leave_path(info.instructions[index]))
        };
        parts.iter().map(leak).collect()
    }

    /// The positions at which control may come back to the frame from a callee: after landing pads,
    /// and after each call that returns twice. Each position is a block and the index of an
    /// instruction in the block.
    pub(crate) fn catch_points(&self) -> impl Iterator<Item = (BlockIndex, usize)> + '_ {
        let blocks = BlockIndex::enumerate(&self.blocks);
        blocks.flat_map(move |(index, info)| {
            let last_of_head = info.instructions[..info.top].last();
            let has_pad = last_of_head.is_some_and(|last| last.opcode() == Opcode::LandingPad);
            let second_returns = info.cuts.iter().filter(|cut| cut.outcome == Outcome::Again);
            let after_returns =
                second_returns.flat_map(move |cut| match cut.path_starts_at > cut.path_ends_at {
                    true => vec![(index, cut.path_starts_at)],
                    // An invoke returns to the top of its normal target. The landing pad of its
                    // other target is listed for that block.
                    false => self.tops_after_invoke(info),
                });
            let after_pad = has_pad.then_some((index, info.top));
            after_pad.into_iter().chain(after_returns)
        })
    }

    /// The top of the block to which an invoke at the end of this block returns.
    fn tops_after_invoke(&self, info: &BlockInfo<'_>) -> Vec<(BlockIndex, usize)> {
        let targets = info.targets.iter();
        let normal = targets.filter(|target| target.first_successor == 0);
        let top = |target: &Target| (target.block, self.blocks[target.block].top);
        normal.map(top).collect()
    }

    /// By part: the instruction before which the probe of the part's exit edge is inserted. `None`
    /// if the part needs no exit edge. After a call that returns twice, the probe comes before the
    /// part's first instruction.
    pub(crate) fn exits(&self, parts: &[Part], leaks: &[Option<usize>]) -> Vec<Option<usize>> {
        let exit = |(part, leak): (&Part, &Option<usize>)| {
            let cuts = &self.blocks[part.block].cuts;
            match part.cuts_before.checked_sub(1).map(|cut| cuts[cut].outcome) {
                Some(Outcome::Again) => Some(part.from),
                _ => *leak,
            }
        };
        parts.iter().zip(leaks).map(exit).collect()
    }
}

/// Whether a block is cut before its terminator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BlockEnd {
    Cut,
    NotCut,
}

/// Cuts a block and collects its edges. The blocks that lead to it are filled in later.
fn block_info<'m>(
    block: Block<'m>,
    position: &HashMap<Block<'m>, BlockIndex>,
    attributes: &CallAttributes,
    block_end: BlockEnd,
    options: LoweringOptions<'_>,
) -> Result<BlockInfo<'m>, Reason> {
    let instructions: Vec<_> = block.instructions().collect();
    if instructions
        .iter()
        .any(|instruction| instruction.opcode() == Opcode::Funclet)
    {
        return Err(Reason::Funclets);
    }
    let head = |instruction: &&Instruction<'_>| {
        matches!(instruction.opcode(), Opcode::Phi | Opcode::LandingPad)
    };
    let top = instructions.iter().take_while(head).count();
    let last = instructions
        .len()
        .checked_sub(1)
        .ok_or(Reason::EmptyBlock)?;
    let block_exit = block_exit(&instructions, attributes);
    let end = block_exit.map_or(last, |block_exit| block_exit.index);
    let split_before = |index| Cut {
        path_ends_at: index,
        path_starts_at: index,
        outcome: Outcome::Split,
    };
    let mut cuts = required_cuts(&instructions, attributes, end);
    if options.exit_edges == ExitEdges::Present {
        cuts.extend(cuts_after_leaving_calls(&instructions, attributes, end));
        cuts.sort_by_key(|cut| cut.path_starts_at);
    }
    if options.path_ends == PathEnds::Calls {
        let is_cut = |index| cuts.iter().any(|cut: &Cut| cut.path_ends_at == index);
        let cuts_before_calls: Vec<Cut> = call_indices(&instructions, end)
            .filter(|&index| !is_cut(index))
            .map(split_before)
            .collect();
        cuts.extend(cuts_before_calls);
        cuts.sort_by_key(|cut| cut.path_starts_at);
    }
    if block_end == BlockEnd::Cut
        && block_exit.is_none()
        && cuts
            .last()
            .is_none_or(|cut| cut.path_starts_at != last || cut.path_ends_at != last)
    {
        cuts.push(split_before(last));
    }
    let successors = if block_exit.is_some() {
        Vec::new()
    } else {
        instructions[last].successors()
    };
    let mut targets: Vec<Target> = Vec::new();
    let mut visited = std::collections::HashSet::new();
    for (number, successor) in (0u32..).zip(&successors) {
        let block = position[successor];
        if visited.insert(block) {
            targets.push(Target {
                block,
                first_successor: number,
            });
        }
    }
    Ok(BlockInfo {
        block,
        instructions,
        top,
        cuts,
        block_exit,
        targets,
        sources: Vec::new(),
    })
}

/// Where a block leaves the function: at its first call that doesn't return, or at its end. `None`
/// if the block leads to other blocks.
fn block_exit(instructions: &[Instruction<'_>], attributes: &CallAttributes) -> Option<BlockExit> {
    let noreturn = |instruction: &Instruction<'_>| {
        instruction.opcode() == Opcode::Call && attributes.does_not_return(*instruction)
    };
    if let Some(index) = instructions.iter().position(noreturn) {
        return Some(BlockExit {
            index,
            outcome: Outcome::Noreturn,
        });
    }
    let last = instructions.len() - 1;
    match instructions[last].opcode() {
        Opcode::Ret => Some(return_exit(instructions)),
        Opcode::Unreachable => Some(BlockExit {
            index: last,
            outcome: Outcome::Noreturn,
        }),
        Opcode::Resume => Some(BlockExit {
            index: last,
            outcome: Outcome::Resume,
        }),
        _ => None,
    }
}

/// The exit of a block that returns. If the code generator may turn the last call into a jump, the
/// probe comes before that call: a probe after the call would prevent the jump.
fn return_exit(instructions: &[Instruction<'_>]) -> BlockExit {
    let last = instructions.len() - 1;
    let produces_no_code = |instruction: &Instruction<'_>| {
        instruction.opcode() == Opcode::Repack
            || instruction
                .intrinsic()
                .is_some_and(|name| holloway_llvm::is_marker(&name))
    };
    let before = instructions[..last]
        .iter()
        .rposition(|instruction| !produces_no_code(instruction));
    match before.map(|index| (index, instructions[index].tail_kind())) {
        Some((index, TailKind::MustTail)) => BlockExit {
            index,
            outcome: Outcome::TailCall,
        },
        Some((index, TailKind::Tail)) if may_become_jump(instructions, index) => BlockExit {
            index,
            outcome: Outcome::Return,
        },
        _ => BlockExit {
            index: last,
            outcome: Outcome::Return,
        },
    }
}

/// Whether the function returns the result of its last call, or nothing. Only then can the code
/// generator turn the call into a jump. Other calls marked `tail` run while the frame exists, so
/// the frame may be left in them.
fn may_become_jump(instructions: &[Instruction<'_>], call: usize) -> bool {
    let ret = instructions.last().expect("blocks aren't empty").value();
    let from_call = |value| {
        let mut call_and_later = instructions[call..].iter();
        call_and_later.any(|instruction| instruction.value() == value)
    };
    ret.operand_count() == 0 || from_call(ret.operand(0))
}

/// A cut after each call before instruction `end` that may not come back, unless only a jump
/// follows the call. The call may run and the code after it not.
fn cuts_after_leaving_calls<'a>(
    instructions: &'a [Instruction<'_>],
    attributes: &'a CallAttributes,
    end: usize,
) -> impl Iterator<Item = Cut> + 'a {
    let more_than_jump_follows = move |index: usize| {
        let next = instructions[index + 1];
        !(next.opcode() == Opcode::Br && next.successors().len() == 1)
    };
    let calls = (0..end).filter(move |&index| {
        let call = instructions[index];
        attributes.may_leave(call)
            && !attributes.returns_twice(call)
            && more_than_jump_follows(index)
    });
    calls.map(|index| Cut {
        path_ends_at: index + 1,
        path_starts_at: index + 1,
        outcome: Outcome::Returned,
    })
}

/// The indices of the calls before instruction `end`, and of instruction `end` if it is an invoke.
fn call_indices<'a>(
    instructions: &'a [Instruction<'_>],
    end: usize,
) -> impl Iterator<Item = usize> + 'a {
    let until = match instructions[end].opcode() {
        Opcode::Invoke => end + 1,
        _ => end,
    };
    (0..until).filter(|&index| calls(instructions[index]))
}

/// The cuts that every kind of collection needs, up to instruction `end`: at calls that return
/// twice, and before an invoke that does not return.
fn required_cuts(
    instructions: &[Instruction<'_>],
    attributes: &CallAttributes,
    end: usize,
) -> Vec<Cut> {
    let mut cuts: Vec<Cut> = (0..end)
        .filter(|&index| {
            let instruction = instructions[index];
            instruction.opcode() == Opcode::Call && attributes.returns_twice(instruction)
        })
        .map(|index| Cut {
            path_ends_at: index,
            path_starts_at: index + 1,
            outcome: Outcome::Again,
        })
        .collect();
    let last = instructions[end];
    if matches!(last.opcode(), Opcode::Invoke | Opcode::CallBr) {
        if attributes.returns_twice(last) {
            cuts.push(Cut {
                path_ends_at: end,
                path_starts_at: end,
                outcome: Outcome::Again,
            });
        } else if attributes.does_not_return(last) {
            cuts.push(Cut {
                path_ends_at: end,
                path_starts_at: end,
                outcome: Outcome::Split,
            });
        }
    }
    cuts
}
