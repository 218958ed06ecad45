//! The timed code of a function: the copy of its blocks, with its probes.

use holloway_llvm::Instruction;

use super::super::anchors::Anchors;
use super::super::clock::{AfterPath, Clock, StartStorage};
use super::super::graph::{BlockGraph, positions, reverse_postorder};
use super::super::register::RegisterFlow;
use super::super::variable::ProbeVariable;
use super::copy::TimedCopy;
use super::parts::{PartStart, Parts};
use crate::lower::Layout;

/// The timed code with its probes.
pub(super) struct TimedCode<'m> {
    pub(super) copy: TimedCopy<'m>,
    /// By part: the call of the runtime where a path ends in it.
    pub(super) answers: Vec<Option<Instruction<'m>>>,
}

impl<'m> TimedCode<'m> {
    /// Copies the parts, gives the copy its path register, and calls the runtime where a path ends.
    pub(super) fn new(
        function: &Layout<'m>,
        parts: &Parts<'m>,
        clock: &Clock<'_, 'm>,
        places: &StartStorage<'m>,
    ) -> Self {
        let copy = TimedCopy::new(function.function, parts);
        let layout = &copy.layout;
        let graph = BlockGraph::new(parts.successors.clone());
        let register = RegisterFlow::new(&graph, &copy.sites, &[]);
        let anchors = Anchors::new(layout);
        let mut variable = ProbeVariable::new(layout, &copy.sites, &register, &[]);
        let mut answers = vec![None; parts.all.len()];
        for part in reverse_postorder(&graph.successors) {
            let next = match parts.next(part.index()) {
                Some(PartStart::Boundary) => AfterPath::Begins,
                _ => AfterPath::None,
            };
            variable.step(&anchors, part, |builder, number, _| {
                answers[part] = Some(clock.end(builder, number, next, places));
            });
        }
        variable.complete_phis(&positions(layout));
        Self { copy, answers }
    }
}
