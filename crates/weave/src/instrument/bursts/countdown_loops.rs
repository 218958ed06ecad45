//! Keeps the countdown in a register in loops that call no function with checks.
//!
//! Such a loop loads the countdown at its entries, decrements the register in each iteration, and
//! stores the register at its exits. So the check of an iteration is two instructions without
//! memory access. If a signal handler decrements the countdown while the loop runs, its decrements
//! are lost.

use holloway_llvm::{Builder, Global, Instruction, Opcode, Type};

use super::super::definitions::SplitVariable;
use super::super::graph::BlockGraph;
use super::super::natural_loops::{NaturalLoop, outermost_loops};
use super::leaves::ShortLeaves;
use super::pieces::{PieceStart, Pieces};
use super::sink::first_after_phis;
use crate::lower::{BlockIndex, FunctionParts};

/// The loops of a function that keep the countdown in a register.
pub(super) struct CountdownLoops<'m> {
    loops: Vec<(NaturalLoop, SplitVariable<'m>)>,
    countdown: Global<'m>,
}

impl<'m> CountdownLoops<'m> {
    /// Chooses the loops and inserts their loads and stores. This must be called before any check
    /// is inserted.
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
        let may_keep = |natural: &NaturalLoop| {
            natural.blocks.iter().all(|&block| is_uninterrupted(block))
                && may_keep(parts, graph, pieces, natural)
        };
        let loops = outermost_loops(graph, may_keep);
        let loops = loops.into_iter();
        let mut countdown_loops = Self {
            loops: loops
                .map(|natural| (natural, SplitVariable::default()))
                .collect(),
            countdown,
        };
        for (natural, variable) in &mut countdown_loops.loops {
            let word = Type::i32(parts.function.module());
            for &entry in &natural.entries {
                let end = parts.blocks[entry].terminator();
                let load = Builder::before(end).load(word, countdown.value());
                variable.definitions.push((end.block(), load));
            }
            // SSA repair replaces this value by the value that reaches each exit.
            let any_definition = variable.definitions[0].1;
            for &exit in &natural.exits {
                let first = first_after_phis(pieces.all[pieces.first[exit]].block);
                let store = Builder::before(first).store(any_definition, countdown.value());
                let store = store.as_instruction().expect("a store");
                variable.uses.push((store, 0));
            }
        }
        countdown_loops
    }

    /// The index of the loop that contains a piece and keeps the countdown in a register. `None` if
    /// there is no such loop.
    pub(super) fn loop_of(&self, pieces: &Pieces<'m>, piece: usize) -> Option<usize> {
        let block = pieces.all[piece].original?;
        let mut loops = self.loops.iter();
        loops.position(|(natural, _)| natural.blocks.contains(&block))
    }

    /// Decrements the countdown at the end of a piece of a loop. Returns the new countdown.
    pub(super) fn decrement(
        &mut self,
        loop_index: usize,
        end: Instruction<'m>,
    ) -> holloway_llvm::Value<'m> {
        let variable = &mut self.loops[loop_index].1;
        let minus_one = Type::i32(end.module()).int(-1);
        // SSA repair replaces the first operand by the value that reaches this block.
        let remaining = Builder::before(end).add(variable.definitions[0].1, minus_one);
        let sum = remaining.as_instruction().expect("an addition of a load");
        variable.uses.push((sum, 0));
        variable.definitions.push((end.block(), remaining));
        remaining
    }

    /// Loads the countdown at the end of a block that leads from the timed code back into a loop.
    pub(super) fn reload(&mut self, loop_index: usize, end: Instruction<'m>) {
        let word = Type::i32(end.module());
        let load = Builder::before(end).load(word, self.countdown.value());
        self.loops[loop_index]
            .1
            .definitions
            .push((end.block(), load));
    }

    pub(super) fn variables(&self) -> impl Iterator<Item = &SplitVariable<'m>> {
        self.loops.iter().map(|(_, variable)| variable)
    }
}

/// Whether a loop without calls of functions with checks can keep the countdown, and has a check
/// for which that pays.
fn may_keep(
    parts: &FunctionParts<'_>,
    graph: &BlockGraph,
    pieces: &Pieces<'_>,
    natural: &NaturalLoop,
) -> bool {
    let inside = |block: &BlockIndex| natural.blocks.contains(block);
    let may_load_at_entries = natural.entries.iter().all(|&entry| {
        let end = parts.blocks[entry].terminator();
        !matches!(end.opcode(), Opcode::Invoke | Opcode::CallBr)
    });
    let may_store_at_exits = natural
        .exits
        .iter()
        .all(|&exit| graph.sources[exit].iter().all(inside));
    let mut all = pieces.all.iter();
    let has_check = all.any(|piece| {
        piece.begin == PieceStart::Boundary && piece.original.is_some_and(|block| inside(&block))
    });
    may_load_at_entries && may_store_at_exits && has_check && !natural.entries.is_empty()
}
