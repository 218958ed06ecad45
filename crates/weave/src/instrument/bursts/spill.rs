//! Spills values of large functions: keeps them in the frame, to shorten code generation.
//!
//! Control can change between checking code and timed code at the *meeting points*, where paths
//! begin. Each value that is live at a meeting point needs phis in both codes
//! ([`super::super::ssa_repair`]), and the code generator is slow with phis. For example, SQLite's
//! interpreter has a hundred loops with hundreds of live values each. Their phis took most of the
//! time of SQLite's code generation. A value in the frame needs no phi: each code stores the value
//! where it computes it, and loads it where it uses it. The code generator would keep most of these
//! values in the frame anyway, for lack of registers.
//!
//! So if too many values are live at meeting points, this stage spills some of them. It prefers
//! values that save many phis and need few loads and stores, weighted by how often blocks are
//! likely to run. Values that are never live in the same span share a slot of the frame.

use std::collections::{BTreeMap, HashMap};

use holloway_llvm::{Block, Builder, Instruction, Opcode, Type, Value};

use super::super::frequencies::TransitionFrequencies;
use super::spans::{Span, SpanStart, Spans};
use crate::lower::{BlockIndex, FunctionParts};

/// A function spills values if more than this many values are live at its meeting points. A value
/// that is live at several meeting points counts several times. SQLite's interpreter has 35,774
/// such values, and its next function 3,497. With this limit bzip2 ran 1.07 times as long as
/// without probes. With 4,000 (and 400 for [`MAX_LIVE_AFTER_SPILLING`]) it ran 1.34 times as long,
/// because then its decoder spilled too (`cargo xtask bench --flavours variation --quick --rounds 5
/// --only bzip2`, measured twice each).
const MAX_LIVE: usize = 10_000;
/// The maximum number of values that are live at meeting points after spilling. With 2,000, weaving
/// SQLite took 54 seconds of processor time, and with 400 it took 46. It took 40 seconds if the
/// largest functions had no timed code. (Measured once each, on a busy machine, with the same
/// [`MAX_LIVE`].)
const MAX_LIVE_AFTER_SPILLING: usize = 2_000;

/// A value that is live in several spans.
struct LiveValue<'m> {
    instruction: Instruction<'m>,
    /// The span that computes the value.
    maker: usize,
    /// The spans at whose top the value is live.
    spans: Vec<usize>,
    /// The number of meeting points at which the value is live.
    meeting_count: usize,
    /// By span that would load the value: the operands that use it.
    uses: BTreeMap<usize, Vec<(Instruction<'m>, u32)>>,
    /// How often a spilled value would be stored or loaded.
    cost: u64,
}

/// The graph of the spans.
struct SpanGraph<'m> {
    span: HashMap<Block<'m>, usize>,
    /// The index of each instruction in its span.
    positions: HashMap<Instruction<'m>, usize>,
    sources: Vec<Vec<usize>>,
    /// By span: the number of the meeting point at its top. `None` if there is none.
    meeting: Vec<Option<usize>>,
    frequency: Vec<u64>,
}

/// Spills values of a function if too many are live at its meeting points.
pub(super) fn spill<'m>(
    parts: &FunctionParts<'m>,
    spans: &mut Spans<'m>,
    frequencies: &TransitionFrequencies,
) {
    // After a second return of `setjmp`, the frame would contain values that were stored since the
    // first return.
    if spans.all.iter().any(|span| span.begin == SpanStart::Gap) {
        return;
    }
    let graph = SpanGraph::new(parts, spans, frequencies);
    let mut live_values = graph.live_values(spans);
    let mut live_count: usize = live_values.iter().map(|value| value.meeting_count).sum();
    if live_count <= MAX_LIVE {
        return;
    }
    live_values.retain(|value| value.meeting_count > 0 && value.may_store());
    live_values.sort_by_key(|value| value.cost / value.meeting_count as u64);
    let mut frame = FrameSlots::default();
    for value in live_values {
        if live_count <= MAX_LIVE_AFTER_SPILLING {
            break;
        }
        live_count -= value.meeting_count;
        let slot = frame.slot(&value, spans);
        value.store_and_load(slot, spans, &graph);
    }
    for span in &mut spans.all {
        refresh(span);
    }
}

impl<'m> SpanGraph<'m> {
    fn new(
        parts: &FunctionParts<'m>,
        spans: &Spans<'m>,
        frequencies: &TransitionFrequencies,
    ) -> Self {
        let mut sources = vec![Vec::new(); spans.all.len()];
        for (source, targets) in spans.successors.iter().enumerate() {
            for &target in targets {
                sources[target.index()].push(source);
            }
        }
        let mut numbers = HashMap::new();
        // Spans that only jump to the same block share a meeting point.
        let meeting = spans.all.iter().map(|span| {
            let block = span.jump().unwrap_or(span.block);
            let next = numbers.len();
            (span.begin == SpanStart::Boundary).then(|| *numbers.entry(block).or_insert(next))
        });
        let positions = spans.all.iter().flat_map(|span| {
            let numbers = span.instructions.iter().enumerate();
            numbers.map(|(number, &instruction)| (instruction, number))
        });
        let runs: Vec<u64> = BlockIndex::all(parts.blocks.len())
            .map(|block| runs(parts, block, frequencies))
            .collect();
        Self {
            meeting: meeting.collect(),
            positions: positions.collect(),
            frequency: spans
                .all
                .iter()
                .map(|span| span.original.map_or(0, |block| runs[block]))
                .collect(),
            span: spans.index_of.clone(),
            sources,
        }
    }

    /// The values that are live in several spans.
    fn live_values(&self, spans: &Spans<'m>) -> Vec<LiveValue<'m>> {
        let makers = spans.all.iter().enumerate().skip(1);
        let values = makers.flat_map(|(maker, span)| {
            let instructions = span.instructions.iter();
            instructions.map(move |&instruction| self.live_value(spans, maker, instruction))
        });
        values.filter(|value| !value.spans.is_empty()).collect()
    }

    /// Where the value of `instruction`, which the span `maker` computes, is live and used.
    fn live_value(
        &self,
        spans: &Spans<'m>,
        maker: usize,
        instruction: Instruction<'m>,
    ) -> LiveValue<'m> {
        let value = instruction.value();
        let mut users: Vec<_> = value.users();
        users.sort_unstable_by_key(|user| user.as_instruction().map(|user| self.position(user)));
        users.dedup();
        let mut pending = Vec::new();
        let mut uses: BTreeMap<usize, Vec<_>> = BTreeMap::new();
        for user in users.into_iter().filter_map(Value::as_instruction) {
            let incoming = user.incoming();
            for operand in 0..user.value().operand_count() {
                if user.value().operand(operand) != value {
                    continue;
                }
                let from = incoming.get(operand as usize).map(|(_, block)| block);
                let user_span = self.span[from.unwrap_or(&user.block())];
                if user_span == maker {
                    continue;
                }
                pending.push(user_span);
                // A span that is only a jump must remain only a jump, because control comes back
                // from the timed code after it. So the span before it loads the value.
                let is_only_jump = spans.all[user_span].begin == SpanStart::Boundary
                    && spans.all[user_span].jump().is_some();
                let loading_span = if from.is_some() && is_only_jump {
                    user_span - 1
                } else {
                    user_span
                };
                if loading_span != maker {
                    uses.entry(loading_span).or_default().push((user, operand));
                }
            }
        }
        let live_spans = self.live_spans(maker, pending);
        let mut meeting_points: Vec<usize> = live_spans
            .iter()
            .filter_map(|&span| self.meeting[span])
            .collect();
        meeting_points.sort_unstable();
        meeting_points.dedup();
        let loads = uses.keys().map(|&span| self.frequency[span]);
        LiveValue {
            instruction,
            maker,
            meeting_count: meeting_points.len(),
            cost: loads.fold(self.frequency[maker], u64::saturating_add),
            spans: live_spans,
            uses,
        }
    }

    /// The span of an instruction, and its index in the span.
    fn position(&self, user: Instruction<'m>) -> (usize, usize) {
        (self.span[&user.block()], self.positions[&user])
    }

    /// The spans at whose top a value is live. The span `maker` computes the value, and the
    /// spans `pending` use it.
    fn live_spans(&self, maker: usize, mut pending: Vec<usize>) -> Vec<usize> {
        let mut visited = std::collections::BTreeSet::new();
        while let Some(span) = pending.pop() {
            if span != maker && visited.insert(span) {
                pending.extend(&self.sources[span]);
            }
        }
        visited.into_iter().collect()
    }
}

impl<'m> LiveValue<'m> {
    /// Whether the value can be spilled. A terminator's value cannot be stored in its block.
    fn may_store(&self) -> bool {
        let opcode = self.instruction.opcode();
        let is_terminator = matches!(opcode, Opcode::Invoke | Opcode::CallBr);
        self.instruction.value().kind().is_scalar() && !is_terminator
    }

    /// Stores the value after the instruction that computes it, and loads it in each span that
    /// uses it.
    fn store_and_load(&self, slot: Value<'m>, spans: &Spans<'m>, graph: &SpanGraph<'m>) {
        let value = self.instruction.value();
        let instructions = &spans.all[self.maker].instructions;
        let is_at_top = |instruction: &&Instruction<'_>| {
            matches!(instruction.opcode(), Opcode::Phi | Opcode::LandingPad)
        };
        let next = match is_at_top(&&self.instruction) {
            true => instructions.iter().take_while(is_at_top).count(),
            false => graph.positions[&self.instruction] + 1,
        };
        Builder::before(instructions[next]).store(value, slot);
        for (&span, uses) in &self.uses {
            let instructions = &spans.all[span].instructions;
            // A phi of another span needs the value at the end of this span.
            let uses_inside = uses.iter().filter(|(user, _)| user.opcode() != Opcode::Phi);
            let first = uses_inside.map(|(user, _)| graph.positions[user]).min();
            let first = first.unwrap_or(instructions.len() - 1);
            let loaded = Builder::before(instructions[first]).load(value.kind(), slot);
            for &(user, operand) in uses {
                user.set_operand(operand, loaded);
            }
        }
    }
}

/// The slots of a function's frame.
#[derive(Default)]
struct FrameSlots<'m> {
    /// The type and address of each slot, and a bit per span: whether a value occupies the slot
    /// there.
    slots: Vec<(Type<'m>, Value<'m>, Vec<u64>)>,
}

impl<'m> FrameSlots<'m> {
    /// A slot for a value: a slot that is free wherever the value is live, or else a new slot.
    fn slot(&mut self, live_value: &LiveValue<'m>, spans: &Spans<'m>) -> Value<'m> {
        let kind = live_value.instruction.value().kind();
        let mut live_spans = vec![0u64; spans.all.len().div_ceil(64)];
        for &span in live_value.spans.iter().chain([&live_value.maker]) {
            live_spans[span / 64] |= 1 << (span % 64);
        }
        let is_free = |occupied: &[u64]| {
            occupied
                .iter()
                .zip(&live_spans)
                .all(|(occupied, needed)| occupied & needed == 0)
        };
        let mut slots = self.slots.iter_mut();
        if let Some((_, slot, occupied)) =
            slots.find(|(other, _, occupied)| *other == kind && is_free(occupied))
        {
            for (occupied, needed) in occupied.iter_mut().zip(&live_spans) {
                *occupied |= needed;
            }
            return *slot;
        }
        let slot = Builder::at_top(spans.all[0].block).slot(kind);
        self.slots.push((kind, slot, live_spans));
        slot
    }
}

/// How often a block is likely to run: the larger sum of its incoming or outgoing frequencies.
fn runs(parts: &FunctionParts<'_>, block: BlockIndex, frequencies: &TransitionFrequencies) -> u64 {
    let info = &parts.blocks[block];
    let sources = info.sources.iter();
    let arrivals = sources.fold(0u64, |sum, &from| {
        sum.saturating_add(frequencies.between(from, block))
    });
    let targets = info.targets.iter();
    let departures = targets.fold(0u64, |sum, to| {
        sum.saturating_add(frequencies.between(block, to.block))
    });
    arrivals.max(departures)
}

/// Reads a span's instructions again after loads and stores were inserted. The actions of probes
/// remain before the same instructions.
fn refresh(span: &mut Span<'_>) {
    let new: Vec<_> = span.block.instructions().collect();
    if new.len() != span.instructions.len() {
        for (index, _) in &mut span.actions {
            let anchor = span.instructions[*index];
            let position = new.iter().position(|&other| other == anchor);
            *index = position.expect("spilling removes no instruction");
        }
        span.instructions = new;
    }
}
