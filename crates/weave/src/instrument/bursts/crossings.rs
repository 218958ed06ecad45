//! Inserts the checks into the checking code, and makes the *crossings*: the blocks through which
//! control changes from one code to the other. Spans that only jump to the same block share a
//! crossing.

use std::collections::HashMap;

use holloway_llvm::{Block, Builder, Global, Instruction, Opcode, Type, Value};

use super::super::clock::{Clock, StartStorage};
use super::super::entry::rare_branch_weights;
use super::countdown_loops::CountdownLoops;
use super::spans::{SpanStart, Spans};
use super::timed_code::TimedCode;
use crate::lower::FunctionParts;

/// The two codes of a function, and what the crossings between them need.
pub(super) struct Crossings<'a, 'm> {
    pub(super) parts: &'a FunctionParts<'m>,
    pub(super) spans: &'a Spans<'m>,
    pub(super) timed: &'a TimedCode<'m>,
    pub(super) clock: &'a Clock<'a, 'm>,
    pub(super) storage: &'a StartStorage<'m>,
    pub(super) countdown: Global<'m>,
}

impl<'m> Crossings<'_, 'm> {
    /// The spans with which paths begin, grouped by crossing. The spans of a group only jump to
    /// the same block (mostly they are back edges of a loop) and start paths with the same number.
    /// An interpreter's loop has hundreds of back edges. With a separate crossing for each back
    /// edge, every live value would need hundreds of phis.
    pub(super) fn groups(&self, loops: &CountdownLoops<'m>) -> Vec<Vec<usize>> {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        // By target and countdown loop: the groups of spans that only jump there.
        let mut groups_by_target: HashMap<(Block<'m>, Option<usize>), Vec<usize>> = HashMap::new();
        let actions = |span: usize| {
            let stops = self.timed.copy.sites[span].iter();
            stops.flat_map(|stop| stop.actions.iter().copied())
        };
        for span in 1..self.spans.all.len() {
            if !matches!(
                self.spans.all[span].begin,
                SpanStart::Boundary | SpanStart::PathStart
            ) {
                continue;
            }
            if let Some(target) = self.jump(span)
                && self.timed.answers[span].is_none()
            {
                let loop_index = loops.loop_of(self.spans, span - 1);
                let candidates = groups_by_target.entry((target, loop_index)).or_default();
                let has_same_actions = |&&group: &&usize| {
                    let first_span: usize = groups[group][0];
                    actions(first_span).eq(actions(span))
                };
                if let Some(&group) = candidates.iter().find(has_same_actions) {
                    groups[group].push(span);
                    continue;
                }
                candidates.push(groups.len());
            }
            groups.push(vec![span]);
        }
        groups
    }

    /// The target of a span's jump. `None` if the span is more than a jump.
    fn jump(&self, span: usize) -> Option<Block<'m>> {
        self.spans.all[span].jump()
    }

    /// Makes the check and the crossing of a group of spans. Adds the blocks through which control
    /// changes the code to `crossing_blocks`.
    pub(super) fn insert(
        &self,
        group: &[usize],
        loops: &mut CountdownLoops<'m>,
        crossing_blocks: &mut Vec<Block<'m>>,
    ) {
        let block = |name| self.parts.function.append_block(name);
        let cold = block("holloway.burst");
        let enter = block("holloway.begin");
        let back = block("holloway.back");
        crossing_blocks.extend([enter, back]);
        let checks = group.iter().map(|&span| {
            let remaining = self.check(span - 1, cold, loops);
            (remaining, self.spans.all[span - 1].block)
        });
        let checks: Vec<_> = checks.collect();
        let builder = Builder::at_end(cold);
        let remaining_values = checks
            .iter()
            .filter_map(|&(remaining, block)| Some((remaining?, block)));
        let remaining_values: Vec<_> = remaining_values.collect();
        let remaining = (!remaining_values.is_empty()).then(|| phi_of(&builder, &remaining_values));
        let check_blocks: Vec<Block<'m>> = checks.iter().map(|&(_, block)| block).collect();
        let target = self.target(group[0]);
        let answers = self.answers(group, enter, back);
        let carried_phis = self.carried_phis(group, target, &check_blocks, &answers, cold);
        if let Some(remaining) = remaining {
            builder.store(remaining, self.countdown.value());
        }
        let ring = self.clock.ask_runtime(&builder).value();
        builder.branch_if(builder.is_null(ring), back, enter);
        self.enter(group[0], enter, (ring, cold), &answers, &carried_phis);
        self.back(target, back, &carried_phis, loops);
    }

    /// The span to which control comes back from the timed code: `span`, or the target of its
    /// jump if `span` is only a jump.
    fn target(&self, span: usize) -> usize {
        let Some(block) = self.jump(span) else {
            return span;
        };
        self.spans.index_of[&block]
    }

    /// Makes the timed code branch by the runtime's answer before the spans of a group. Returns,
    /// by span, the answer and the block that receives it. `None` if no timed path ends before the
    /// span.
    fn answers(
        &self,
        group: &[usize],
        enter: Block<'m>,
        back: Block<'m>,
    ) -> Vec<Option<(Value<'m>, Block<'m>)>> {
        let answers = group.iter().map(|&span| {
            let before = &self.timed.copy.parts.blocks[span - 1];
            let answer = self.timed.answers[span - 1]?.value();
            let end = before.terminator();
            end.set_operand(0, Builder::before(end).is_null(answer));
            end.set_successor(0, back);
            end.set_successor(1, enter);
            Some((answer, before.block))
        });
        answers.collect()
    }

    /// The values that the crossing passes to the phis of the block that the spans jump to.
    fn carried_phis(
        &self,
        group: &[usize],
        target: usize,
        check_blocks: &[Block<'m>],
        answers: &[Option<(Value<'m>, Block<'m>)>],
        cold: Block<'m>,
    ) -> Vec<CarriedPhi<'m>> {
        if target == group[0] {
            return Vec::new();
        }
        let copied = &self.timed.copy.parts.blocks;
        let phis = self.spans.all[target].instructions.iter().copied();
        let phis = phis.zip(copied[target].instructions.iter().copied());
        let phis = phis.take_while(|(phi, _)| phi.opcode() == Opcode::Phi);
        let carried_phis = phis.map(|(phi, copy)| {
            let (values, copies) = (incoming(phi), incoming(copy));
            let spans = group.iter().zip(check_blocks);
            let from_checks =
                spans.map(|(&span, &check)| (values[&self.spans.all[span].block], check));
            let from_checks: Vec<_> = from_checks.collect();
            let mut incoming = vec![(phi_of(&Builder::at_end(cold), &from_checks), cold)];
            for (&span, answer) in group.iter().zip(answers) {
                if let (Some(&value), Some((_, block))) = (copies.get(&copied[span].block), answer)
                {
                    incoming.push((value, *block));
                }
            }
            CarriedPhi {
                phi,
                copy,
                incoming,
            }
        });
        carried_phis.collect()
    }

    /// Inserts the check at the end of a span. Returns the countdown if a loop keeps it in a
    /// register, so that memory does not have it.
    fn check(
        &self,
        span: usize,
        cold: Block<'m>,
        loops: &mut CountdownLoops<'m>,
    ) -> Option<Value<'m>> {
        let end = end_of(&self.spans.all[span].instructions);
        let (word, countdown) = (Type::i32(end.module()), self.countdown.value());
        let loop_index = loops.loop_of(self.spans, span);
        let remaining = loop_index.map(|loop_index| loops.decrement(loop_index, end));
        let builder = Builder::before(end);
        let countdown_value = remaining.unwrap_or_else(|| {
            let remaining = builder.add(builder.load(word, countdown), word.int(-1));
            builder.store(remaining, countdown);
            remaining
        });
        end.set_operand(0, builder.is_negative(countdown_value));
        end.set_successor(0, cold);
        end.set_metadata(
            end.module().metadata_kind("prof"),
            rare_branch_weights(end.module()),
        );
        remaining
    }

    /// Begins a timed path in the block `enter`, to which the check and the ends of timed paths
    /// lead.
    fn enter(
        &self,
        span: usize,
        enter: Block<'m>,
        ring_of_check: (Value<'m>, Block<'m>),
        answers: &[Option<(Value<'m>, Block<'m>)>],
        carried_phis: &[CarriedPhi<'m>],
    ) {
        let builder = Builder::at_end(enter);
        let rings: Vec<_> = [ring_of_check]
            .into_iter()
            .chain(answers.iter().copied().flatten())
            .collect();
        let ring = phi_of(&builder, &rings);
        let copied = &self.timed.copy;
        let target = &copied.parts.blocks[span];
        let values = carried_phis
            .iter()
            .map(|carried| phi_of(&builder, &carried.incoming));
        let values: Vec<_> = values.collect();
        for (carried, value) in carried_phis.iter().zip(values) {
            let mut sources = carried.copy.incoming().into_iter();
            let operand = sources.position(|(_, block)| block == target.block);
            if let Some(operand) = operand.and_then(|operand| u32::try_from(operand).ok()) {
                carried.copy.set_operand(operand, opaque(&builder, value));
            }
        }
        let goto = target.terminator();
        let is_only_goto = self.spans.all[span].instructions.len() == 1;
        match goto.opcode() {
            // The comparisons with the labels, before the goto, do not belong to the path.
            Opcode::IndirectBr if is_only_goto => self.begin(&Builder::before(goto), ring),
            _ => self.begin(&builder, ring),
        }
        builder.branch(target.block);
    }

    /// Reads the clock, and stores the start of the path.
    fn begin(&self, builder: &Builder<'m>, ring: Value<'m>) {
        let start = self.clock.begin_after_call(builder, ring);
        self.storage.store(builder, start);
    }

    /// Returns to the checking code from the block `back`.
    fn back(
        &self,
        target: usize,
        back: Block<'m>,
        carried_phis: &[CarriedPhi<'m>],
        loops: &mut CountdownLoops<'m>,
    ) {
        let builder = Builder::at_end(back);
        let values = carried_phis
            .iter()
            .map(|carried| phi_of(&builder, &carried.incoming));
        let values: Vec<_> = values.collect();
        for (carried, value) in carried_phis.iter().zip(values) {
            carried.phi.add_incoming(opaque(&builder, value), back);
        }
        let end = builder.branch(self.spans.all[target].block);
        if let Some(loop_index) = loops.loop_of(self.spans, target) {
            loops.reload(loop_index, end);
        }
    }
}

/// A phi of the block that a group of spans jumps to, and the values that the crossing passes to
/// it.
struct CarriedPhi<'m> {
    phi: Instruction<'m>,
    /// The phi's copy in the timed code.
    copy: Instruction<'m>,
    /// The value from each block that leads to `enter` and to `back`.
    incoming: Vec<(Value<'m>, Block<'m>)>,
}

/// The incoming values of a phi, by block.
fn incoming<'m>(phi: Instruction<'m>) -> HashMap<Block<'m>, Value<'m>> {
    let incoming = phi.incoming().into_iter();
    incoming.map(|(value, block)| (block, value)).collect()
}

/// Makes a phi of these values.
fn phi_of<'m>(builder: &Builder<'m>, values: &[(Value<'m>, Block<'m>)]) -> Value<'m> {
    let phi = builder.phi(values[0].0.kind());
    for &(value, block) in values {
        phi.add_incoming(value, block);
    }
    phi.value()
}

/// Freezes a value, so that LLVM's analyses stop there ([`super::super::ssa_repair`]).
fn opaque<'m>(builder: &Builder<'m>, value: Value<'m>) -> Value<'m> {
    match value.kind().is_scalar() {
        true => builder.freeze(value),
        false => value,
    }
}

fn end_of<'m>(instructions: &[Instruction<'m>]) -> Instruction<'m> {
    *instructions.last().expect("blocks aren't empty")
}
