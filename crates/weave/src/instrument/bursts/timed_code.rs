//! Makes the timed code of a function: the copy of its blocks, with probes.

use holloway_llvm::Instruction;

use super::super::anchors::Anchors;
use super::super::clock::{AfterPath, Clock, StartStorage};
use super::super::graph::{BlockGraph, positions, reverse_postorder};
use super::super::register::RegisterFlow;
use super::super::variable::ProbeVariable;
use super::copy::TimedCopy;
use super::spans::{SpanStart, Spans};
use crate::lower::FunctionParts;

/// The timed code with its probes.
pub(super) struct TimedCode<'m> {
    pub(super) copy: TimedCopy<'m>,
    /// By span: the call of the runtime that ends a path in the span. Its result decides where
    /// control goes next.
    pub(super) answers: Vec<Option<Instruction<'m>>>,
}

impl<'m> TimedCode<'m> {
    /// Copies the spans, inserts the path register into the copy, and inserts calls of the runtime
    /// where paths end.
    pub(super) fn new(
        function: &FunctionParts<'m>,
        spans: &Spans<'m>,
        clock: &Clock<'_, 'm>,
        storage: &StartStorage<'m>,
    ) -> Self {
        let copy = TimedCopy::new(function.function, spans);
        let parts = &copy.parts;
        let graph = BlockGraph::new(spans.successors.clone());
        let register = RegisterFlow::new(&graph, &copy.sites, &[]);
        let anchors = Anchors::new(parts);
        let mut variable = ProbeVariable::new(parts, &copy.sites, &register, &[]);
        let mut answers = vec![None; spans.all.len()];
        for span in reverse_postorder(&graph.successors) {
            let next = match spans.next(span.index()) {
                Some(SpanStart::Boundary) => AfterPath::Begins,
                _ => AfterPath::None,
            };
            variable.step(&anchors, span, |builder, number, _| {
                answers[span] = Some(clock.end(builder, number, next, storage));
            });
        }
        variable.complete_phis(&positions(parts));
        Self { copy, answers }
    }
}
