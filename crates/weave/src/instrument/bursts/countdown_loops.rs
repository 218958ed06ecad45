//! Loops that keep the countdown in a register.
//!
//! If a loop and all loops in it call no function with checks, the loop loads the countdown before
//! it begins, decrements the register in each iteration, and stores it where control leaves the
//! loop. An iteration's check is two instructions and no memory access. A signal handler's
//! decrements while such a loop runs are lost.

use holloway_llvm::{Builder, Global, Instruction, Opcode, Type};

use super::super::definitions::SplitVariable;
use super::super::graph::BlockGraph;
use super::super::natural_loops::{NaturalLoop, outermost_loops};
use super::leaves::ShortLeaves;
use super::pieces::{PieceStart, Pieces};
use super::sink::behind_phis;
use crate::lower::{BlockIndex, FunctionParts};

/// The loops of a function that keep the countdown in a register.
pub(super) struct CountdownLoops<'m> {
    loops: Vec<(NaturalLoop, SplitVariable<'m>)>,
    countdown: Global<'m>,
}

impl<'m> CountdownLoops<'m> {
    /// Chooses the loops and inserts their loads and stores. To be called before any check is
    /// inserted.
    pub(super) fn new(
        parts: &FunctionParts<'m>,
        graph: &BlockGraph,
        pieces: &Pieces<'m>,
        countdown: Global<'m>,
        leaves: &ShortLeaves,
    ) -> Self {
        let is_uninterrupted = |block: BlockIndex| {
            let mut instructions = parts.blocks[block].instructions.iter();
            !instructions.any(|&instruction| leaves.calls_checked_function(instruction))
        };
        let may_keep = |found: &NaturalLoop| {
            found.blocks.iter().all(|&block| is_uninterrupted(block))
                && may_keep(parts, graph, pieces, found)
        };
        let loops = outermost_loops(graph, may_keep);
        let loops = loops.into_iter();
        let mut countdown_loops = Self {
            loops: loops
                .map(|found| (found, SplitVariable::default()))
                .collect(),
            countdown,
        };
        for (inner, variable) in &mut countdown_loops.loops {
            let word = Type::i32(parts.function.module());
            for &entry in &inner.entries {
                let end = parts.blocks[entry].terminator();
                let load = Builder::before(end).load(word, countdown.value());
                variable.definitions.push((end.block(), load));
            }
            let some = variable.definitions[0].1;
            for &exit in &inner.exits {
                let first = behind_phis(pieces.all[pieces.first[exit]].block);
                let store = Builder::before(first).store(some, countdown.value());
                let store = store.as_instruction().expect("a store");
                variable.uses.push((store, 0));
            }
        }
        countdown_loops
    }

    /// The index of the loop that keeps the countdown in a piece, if one does.
    pub(super) fn loop_of(&self, pieces: &Pieces<'m>, piece: usize) -> Option<usize> {
        let block = pieces.all[piece].of?;
        let mut loops = self.loops.iter();
        loops.position(|(inner, _)| inner.blocks.contains(&block))
    }

    /// Decrements the countdown at the end of a piece of a loop. Returns the new countdown.
    pub(super) fn decrement(
        &mut self,
        around: usize,
        end: Instruction<'m>,
    ) -> holloway_llvm::Value<'m> {
        let variable = &mut self.loops[around].1;
        let one = Type::i32(end.module()).int(-1);
        let left = Builder::before(end).add(variable.definitions[0].1, one);
        let sum = left.as_instruction().expect("an addition of a load");
        variable.uses.push((sum, 0));
        variable.definitions.push((end.block(), left));
        left
    }

    /// Loads the countdown at the end of a block that leads back into a loop.
    pub(super) fn reload(&mut self, around: usize, end: Instruction<'m>) {
        let word = Type::i32(end.module());
        let load = Builder::before(end).load(word, self.countdown.value());
        self.loops[around].1.definitions.push((end.block(), load));
    }

    pub(super) fn variables(&self) -> impl Iterator<Item = &SplitVariable<'m>> {
        self.loops.iter().map(|(_, variable)| variable)
    }
}

/// Whether a loop without checked calls has checks and can keep the countdown.
fn may_keep(
    parts: &FunctionParts<'_>,
    graph: &BlockGraph,
    pieces: &Pieces<'_>,
    inner: &NaturalLoop,
) -> bool {
    let inside = |block: &BlockIndex| inner.blocks.contains(block);
    let entered = inner.entries.iter().all(|&entry| {
        let end = parts.blocks[entry].terminator();
        !matches!(end.opcode(), Opcode::Invoke | Opcode::CallBr)
    });
    let left = inner
        .exits
        .iter()
        .all(|&exit| graph.sources[exit].iter().all(inside));
    let mut all = pieces.all.iter();
    let checked = all.any(|piece| {
        piece.begin == PieceStart::Boundary && piece.of.is_some_and(|block| inside(&block))
    });
    entered && left && checked && !inner.entries.is_empty()
}
