//! The blocks of a function, cut into segments; where each block leaves the function.

use std::collections::HashMap;

use holloway_flow::BlockId;
use holloway_format::Outcome;
use holloway_llvm::{AttributeKind, Block, Function, Instruction, Module, Opcode, TailKind};

/// Functions that return twice whether they are marked so or not: `__builtin_setjmp`, and what languages without such
/// a mark declare.
const RETURN_TWICE: [&str; 9] = [
    "llvm.eh.sjlj.setjmp",
    "setjmp",
    "_setjmp",
    "__setjmp",
    "sigsetjmp",
    "__sigsetjmp",
    "vfork",
    "__vfork",
    "getcontext",
];

/// Attribute kinds looked up once a module.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attributes {
    noreturn: Option<AttributeKind>,
    returns_twice: Option<AttributeKind>,
    nounwind: Option<AttributeKind>,
    willreturn: Option<AttributeKind>,
}

impl Attributes {
    pub(crate) fn of(module: &Module<'_>) -> Self {
        Self {
            noreturn: AttributeKind::named(module, "noreturn"),
            returns_twice: AttributeKind::named(module, "returns_twice"),
            nounwind: AttributeKind::named(module, "nounwind"),
            willreturn: AttributeKind::named(module, "willreturn"),
        }
    }

    /// Whether a call may never come back: by unwinding, longjmp, the end of the thread or process, or an endless loop.
    fn may_leave(&self, instruction: Instruction<'_>) -> bool {
        let has = |kind: Option<AttributeKind>| kind.is_some_and(|kind| instruction.call_has(kind));
        instruction.is_call()
            && !instruction.callee().is_inline_asm()
            && instruction.intrinsic().is_none()
            && !(has(self.willreturn) && has(self.nounwind))
    }

    fn does_not_return(&self, call: Instruction<'_>) -> bool {
        self.noreturn.is_some_and(|kind| call.call_has(kind))
    }

    fn returns_twice(&self, call: Instruction<'_>) -> bool {
        self.returns_twice.is_some_and(|kind| call.call_has(kind))
            || call
                .callee()
                .as_function()
                .is_some_and(|callee| RETURN_TWICE.contains(&callee.name().as_str()))
    }
}

/// A node of the graph: instructions `from..to` of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) block: usize,
    pub(crate) from: usize,
    pub(crate) to: usize,
}

/// A cut inside a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// The path ends before this instruction…
    pub(crate) before: usize,
    /// …and the next starts before this one.
    pub(crate) after: usize,
    pub(crate) outcome: Outcome,
}

/// Where a block leaves the function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Leave {
    /// The count stands before this instruction.
    pub(crate) index: usize,
    pub(crate) outcome: Outcome,
}

/// An LLVM block.
pub(crate) struct BlockInfo<'m> {
    pub(crate) block: Block<'m>,
    pub(crate) instructions: Vec<Instruction<'m>>,
    /// First instruction behind phis and landing pad.
    pub(crate) top: usize,
    pub(crate) cuts: Vec<Cut>,
    pub(crate) leave: Option<Leave>,
    /// Distinct blocks it leads to.
    pub(crate) targets: Vec<Target>,
    /// Blocks that lead here, by position, each once.
    pub(crate) sources: Vec<usize>,
}

impl<'m> BlockInfo<'m> {
    /// The instruction at its end.
    pub(crate) fn terminator(&self) -> Instruction<'m> {
        *self.instructions.last().expect("blocks aren't empty")
    }
}

/// All parallel edges from one block to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) block: usize,
    /// Number of the first successor that is this block.
    pub(crate) first: u32,
}

/// A function's blocks.
pub(crate) struct Layout<'m> {
    pub(crate) function: Function<'m>,
    pub(crate) blocks: Vec<BlockInfo<'m>>,
}

impl<'m> Layout<'m> {
    pub(crate) fn new(
        function: Function<'m>,
        attributes: &Attributes,
        split: &[usize],
    ) -> Result<Self, String> {
        let blocks: Vec<Block<'m>> = function.blocks().collect();
        let position: HashMap<Block<'m>, usize> = blocks
            .iter()
            .enumerate()
            .map(|(i, &block)| (block, i))
            .collect();
        let mut infos = Vec::with_capacity(blocks.len());
        for (index, &block) in blocks.iter().enumerate() {
            infos.push(block_info(
                block,
                &position,
                attributes,
                split.contains(&index),
            )?);
        }
        for source in 0..infos.len() {
            for target in infos[source].targets.clone() {
                infos[target.block].sources.push(source);
            }
        }
        Ok(Self {
            function,
            blocks: infos,
        })
    }

    /// The segments in order. The first of the entry block is node 0.
    pub(crate) fn nodes(&self) -> Vec<Node> {
        let mut nodes = Vec::with_capacity(self.blocks.len());
        for (block, info) in self.blocks.iter().enumerate() {
            let mut from = 0;
            for cut in &info.cuts {
                // A call that returns twice runs in the segment before the cut.
                nodes.push(Node {
                    block,
                    from,
                    to: cut.after,
                });
                from = cut.after;
            }
            // What stands behind a call that doesn't return never runs.
            let to = match info.leave {
                Some(leave) if leave.outcome == Outcome::Noreturn => leave.index + 1,
                _ => info.instructions.len(),
            };
            nodes.push(Node { block, from, to });
        }
        nodes
    }

    /// The segments in which a path may be left for good before it ends or goes on.
    pub(crate) fn leaks(&self, nodes: &[Node], attributes: &Attributes) -> Vec<BlockId> {
        let leaks = |node: &Node| {
            let info = &self.blocks[node.block];
            let cut = info.cuts.iter().find(|cut| cut.after == node.to);
            // Where the path has ended it can't be left any more.
            let end = match (cut, info.leave) {
                (Some(cut), _) => cut.before,
                (None, Some(leave)) => leave.index,
                (None, None) => node.to,
            };
            info.instructions[node.from..end.max(node.from)]
                .iter()
                .any(|&instruction| attributes.may_leave(instruction))
        };
        (0..)
            .map(BlockId)
            .zip(nodes)
            .filter(|(_, node)| leaks(node))
            .map(|(id, _)| id)
            .collect()
    }
}

fn block_info<'m>(
    block: Block<'m>,
    position: &HashMap<Block<'m>, usize>,
    attributes: &Attributes,
    split: bool,
) -> Result<BlockInfo<'m>, String> {
    let instructions: Vec<_> = block.instructions().collect();
    if instructions
        .iter()
        .any(|instruction| instruction.opcode() == Opcode::Funclet)
    {
        return Err("it handles exceptions with funclets".into());
    }
    let head = |instruction: &&Instruction<'_>| {
        matches!(instruction.opcode(), Opcode::Phi | Opcode::LandingPad)
    };
    let top = instructions.iter().take_while(head).count();
    let last = instructions
        .len()
        .checked_sub(1)
        .ok_or("it has an empty block")?;
    let leave = leave(&instructions, attributes);
    let mut cuts = cuts(
        &instructions,
        attributes,
        leave.map_or(last, |leave| leave.index),
    );
    if split
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
fn leave(instructions: &[Instruction<'_>], attributes: &Attributes) -> Option<Leave> {
    let noreturn = |instruction: &Instruction<'_>| {
        instruction.opcode() == Opcode::Call && attributes.does_not_return(*instruction)
    };
    if let Some(index) = instructions.iter().position(noreturn) {
        return Some(Leave {
            index,
            outcome: Outcome::Noreturn,
        });
    }
    let last = instructions.len() - 1;
    match instructions[last].opcode() {
        Opcode::Ret => Some(return_of(instructions)),
        Opcode::Unreachable => Some(Leave {
            index: last,
            outcome: Outcome::Noreturn,
        }),
        Opcode::Resume => Some(Leave {
            index: last,
            outcome: Outcome::Resume,
        }),
        _ => None,
    }
}

/// A return counts before a call that may become a jump, so that it still may.
fn return_of(instructions: &[Instruction<'_>]) -> Leave {
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
        Some((index, TailKind::MustTail)) => Leave {
            index,
            outcome: Outcome::TailCall,
        },
        Some((index, TailKind::Tail)) => Leave {
            index,
            outcome: Outcome::Return,
        },
        _ => Leave {
            index: last,
            outcome: Outcome::Return,
        },
    }
}

/// The cuts before instruction `end`, and at it if it is an invoke that needs one.
fn cuts(instructions: &[Instruction<'_>], attributes: &Attributes, end: usize) -> Vec<Cut> {
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
