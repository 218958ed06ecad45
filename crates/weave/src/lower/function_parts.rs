//! The parts of a function: its blocks, cut into parts, and where each block leaves the
//! function.

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
    pub(crate) place: usize,
    pub(crate) from: usize,
    pub(crate) to: usize,
}

/// A place where a block is cut in two. After a call that came back ([`Outcome::Returned`]) the
/// path goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// The path ends (or goes on) before this instruction.
    pub(crate) before: usize,
    /// The next path starts before this instruction.
    pub(crate) after: usize,
    pub(crate) outcome: Outcome,
}

/// Where a block leaves the function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockExit {
    /// The count stands before this instruction.
    pub(crate) index: usize,
    pub(crate) outcome: Outcome,
}

/// An LLVM block.
pub(crate) struct BlockInfo<'m> {
    pub(crate) block: Block<'m>,
    pub(crate) instructions: Vec<Instruction<'m>>,
    /// The first instruction after phis and landing pad.
    pub(crate) top: usize,
    pub(crate) cuts: Vec<Cut>,
    pub(crate) leave: Option<BlockExit>,
    /// The distinct blocks it leads to.
    pub(crate) targets: Vec<Target>,
    /// The distinct blocks that lead to it, by position.
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
    /// The number of the first successor that is this block.
    pub(crate) first: u32,
}

/// A function's blocks.
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
            let end = match options.split.contains(&index) {
                true => BlockEnd::Cut,
                false => BlockEnd::Joined,
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

    /// The parts in order. Part 0 is the first of the entry block.
    pub(crate) fn nodes(&self) -> Vec<Part> {
        let mut nodes = Vec::with_capacity(self.blocks.len());
        for (block, info) in BlockIndex::enumerate(&self.blocks) {
            let mut from = 0;
            for (place, cut) in info.cuts.iter().enumerate() {
                // A call that returns twice runs in the part before the cut.
                nodes.push(Part {
                    block,
                    place,
                    from,
                    to: cut.after,
                });
                from = cut.after;
            }
            // Code after a call that doesn't return never runs.
            let to = match info.leave {
                Some(leave) if leave.outcome == Outcome::Noreturn => leave.index + 1,
                _ => info.instructions.len(),
            };
            nodes.push(Part {
                block,
                place: info.cuts.len(),
                from,
                to,
            });
        }
        nodes
    }

    /// By part: the first instruction that may leave its path for good before the path ends or
    /// goes on. If paths end at calls, this is any call: a path that starts with a call comes
    /// after the callee's paths in the stream.
    pub(crate) fn leaks(
        &self,
        nodes: &[Part],
        attributes: &CallAttributes,
        options: LoweringOptions<'_>,
    ) -> Vec<Option<usize>> {
        let leaks = |instruction| match options.path_ends {
            PathEnds::Calls => calls(instruction),
            PathEnds::Iterations => attributes.may_leave(instruction),
        };
        let leak = |node: &Part| {
            let info = &self.blocks[node.block];
            // Nothing can leave the path after its end.
            let end = match (info.cuts.get(node.place), info.leave) {
                (Some(cut), _) => cut.before,
                (None, Some(leave)) => leave.index,
                (None, None) => node.to,
            };
            (node.from..end).find(|&index| leaks(info.instructions[index]))
        };
        nodes.iter().map(leak).collect()
    }

    /// The places where control may come back to the frame from a callee: landing pads, and after
    /// each call that returns twice. Each place is a block and the instruction in it.
    pub(crate) fn catches(&self) -> impl Iterator<Item = (BlockIndex, usize)> + '_ {
        let blocks = BlockIndex::enumerate(&self.blocks);
        blocks.flat_map(move |(index, info)| {
            let pad = info.instructions[..info.top].last();
            let pad = pad.is_some_and(|last| last.opcode() == Opcode::LandingPad);
            let again = info.cuts.iter().filter(|cut| cut.outcome == Outcome::Again);
            let behind = again.flat_map(move |cut| match cut.after > cut.before {
                true => vec![(index, cut.after)],
                // An invoke comes back at the top of each block it leads to. Landing pads are
                // listed as such.
                false => self.behind_invoke(info),
            });
            pad.then_some((index, info.top)).into_iter().chain(behind)
        })
    }

    fn behind_invoke(&self, info: &BlockInfo<'_>) -> Vec<(BlockIndex, usize)> {
        let normal = info.targets.iter().filter(|target| target.first == 0);
        let top = |target: &Target| (target.block, self.blocks[target.block].top);
        normal.map(top).collect()
    }

    /// By part: the instruction before which its exit edge stands, if it needs one. After a
    /// call that returns twice, that is the first instruction.
    pub(crate) fn exits(&self, nodes: &[Part], leaks: &[Option<usize>]) -> Vec<Option<usize>> {
        let exit = |(node, leak): (&Part, &Option<usize>)| {
            let cuts = &self.blocks[node.block].cuts;
            match node.place.checked_sub(1).map(|cut| cuts[cut].outcome) {
                Some(Outcome::Again) => Some(node.from),
                _ => *leak,
            }
        };
        nodes.iter().zip(leaks).map(exit).collect()
    }
}

/// Whether a block is cut before its terminator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BlockEnd {
    Cut,
    Joined,
}

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
    let leave = leave(&instructions, attributes);
    let end = leave.map_or(last, |leave| leave.index);
    let mut cuts = cuts(&instructions, attributes, end);
    if options.exit_edges == ExitEdges::Present {
        cuts.extend(returns(&instructions, attributes, end));
        cuts.sort_by_key(|cut| cut.after);
    }
    if options.path_ends == PathEnds::Calls {
        let known = |index| cuts.iter().any(|cut: &Cut| cut.before == index);
        let found: Vec<Cut> = ends(&instructions, end)
            .filter(|&index| !known(index))
            .map(|index| Cut {
                before: index,
                after: index,
                outcome: Outcome::Split,
            })
            .collect();
        cuts.extend(found);
        cuts.sort_by_key(|cut| cut.after);
    }
    if block_end == BlockEnd::Cut
        && leave.is_none()
        && cuts
            .last()
            .is_none_or(|cut| cut.after != last || cut.before != last)
    {
        cuts.push(Cut {
            before: last,
            after: last,
            outcome: Outcome::Split,
        });
    }
    let successors = if leave.is_some() {
        Vec::new()
    } else {
        instructions[last].successors()
    };
    let mut targets: Vec<Target> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for (first, successor) in (0u32..).zip(&successors) {
        let block = position[successor];
        if seen.insert(block) {
            targets.push(Target { block, first });
        }
    }
    Ok(BlockInfo {
        block,
        instructions,
        top,
        cuts,
        leave,
        targets,
        sources: Vec::new(),
    })
}

/// Where a block leaves the function: at its first call that doesn't return, or at its end.
fn leave(instructions: &[Instruction<'_>], attributes: &CallAttributes) -> Option<BlockExit> {
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
        Opcode::Ret => Some(return_of(instructions)),
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

/// A return counts before a call that may become a jump, so that the call still may.
fn return_of(instructions: &[Instruction<'_>]) -> BlockExit {
    let last = instructions.len() - 1;
    let passed = |instruction: &Instruction<'_>| {
        instruction.opcode() == Opcode::Shuffle
            || instruction
                .intrinsic()
                .is_some_and(|name| holloway_llvm::is_marker(&name))
    };
    let before = instructions[..last]
        .iter()
        .rposition(|instruction| !passed(instruction));
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

/// Whether the function returns the result of its last call, or nothing. Only then can the call
/// take over the frame. After another call marked `tail`, the frame exists while the call runs,
/// and may be left.
fn may_become_jump(instructions: &[Instruction<'_>], call: usize) -> bool {
    let ret = instructions.last().expect("blocks aren't empty").value();
    let from_call = |value| {
        let mut behind = instructions[call..].iter();
        behind.any(|instruction| instruction.value() == value)
    };
    ret.operand_count() == 0 || from_call(ret.operand(0))
}

/// A cut after each call before instruction `end` that may not come back, unless only a jump
/// follows. The call may run without the code after it.
fn returns<'a>(
    instructions: &'a [Instruction<'_>],
    attributes: &'a CallAttributes,
    end: usize,
) -> impl Iterator<Item = Cut> + 'a {
    let goes_on = move |index: usize| {
        let next = instructions[index + 1];
        !(next.opcode() == Opcode::Br && next.successors().len() == 1)
    };
    let calls = (0..end).filter(move |&index| {
        let call = instructions[index];
        attributes.may_leave(call) && !attributes.returns_twice(call) && goes_on(index)
    });
    calls.map(|index| Cut {
        before: index + 1,
        after: index + 1,
        outcome: Outcome::Returned,
    })
}

/// The calls before instruction `end`, and at it if it is an invoke.
fn ends<'a>(instructions: &'a [Instruction<'_>], end: usize) -> impl Iterator<Item = usize> + 'a {
    let until = match instructions[end].opcode() {
        Opcode::Invoke => end + 1,
        _ => end,
    };
    (0..until).filter(|&index| calls(instructions[index]))
}

/// The cuts before instruction `end`, and at it if it is an invoke that needs one.
fn cuts(instructions: &[Instruction<'_>], attributes: &CallAttributes, end: usize) -> Vec<Cut> {
    let mut cuts: Vec<Cut> = (0..end)
        .filter(|&index| {
            let instruction = instructions[index];
            instruction.opcode() == Opcode::Call && attributes.returns_twice(instruction)
        })
        .map(|index| Cut {
            before: index,
            after: index + 1,
            outcome: Outcome::Again,
        })
        .collect();
    let last = instructions[end];
    if matches!(last.opcode(), Opcode::Invoke | Opcode::CallBr) {
        if attributes.returns_twice(last) {
            cuts.push(Cut {
                before: end,
                after: end,
                outcome: Outcome::Again,
            });
        } else if attributes.does_not_return(last) {
            cuts.push(Cut {
                before: end,
                after: end,
                outcome: Outcome::Split,
            });
        }
    }
    cuts
}
