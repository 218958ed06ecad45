//! Makes the timed code of a function: the copy of its blocks, with probes.

use holloway_llvm::Instruction;

use super::super::anchors::Anchors;
use super::super::clock::{AfterPath, Clock, StartStorage};
use super::super::graph::{BlockGraph, positions, reverse_postorder};
use super::super::register::RegisterFlow;
use super::super::variable::ProbeVariable;
use super::copy::TimedCopy;
use super::pieces::{PieceStart, Pieces};
use crate::lower::FunctionParts;

/// The timed code with its probes.
pub(super) struct TimedCode<'m> {
    pub(super) copy: TimedCopy<'m>,
    /// By piece: the call of the runtime that ends a path in the piece. Its result decides where
    /// control goes next.
    pub(super) answers: Vec<Option<Instruction<'m>>>,
}

impl<'m> TimedCode<'m> {
    /// Copies the pieces, inserts the path register into the copy, and inserts calls of the runtime
    /// where paths end.
    pub(super) fn new(
        function: &FunctionParts<'m>,
        pieces: &Pieces<'m>,
        clock: &Clock<'_, 'm>,
        storage: &StartStorage<'m>,
    ) -> Self {
        let copy = TimedCopy::new(function.function, pieces);
        let parts = &copy.parts;
        let graph = BlockGraph::new(pieces.successors.clone());
        let register = RegisterFlow::new(&graph, &copy.sites, &[]);
        let anchors = Anchors::new(parts);
        let mut variable = ProbeVariable::new(parts, &copy.sites, &register, &[]);
        let mut answers = vec![None; pieces.all.len()];
        for piece in reverse_postorder(&graph.successors) {
            let next = match pieces.next(piece.index()) {
                Some(PieceStart::Boundary) => AfterPath::Begins,
                _ => AfterPath::None,
            };
            variable.step(&anchors, piece, |builder, number, _| {
                answers[piece] = Some(clock.end(builder, number, next, storage));
            });
        }
        variable.complete_phis(&positions(parts));
        Self { copy, answers }
    }
}
