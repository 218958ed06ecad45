//! Writes back the counts that a loop has kept in registers: adds them to the counters in memory,
//! after the loop.
//!
//! The first iteration of a loop has its own counter for each path ([`super::promote`]). If several
//! accumulators count iterations, the first iteration adds a *mark* instead of 1: the sign bit.
//! After the loop, the sign of each accumulator is set if it counted the first iteration, and its
//! other bits are the number of later iterations. Inside the loop this costs one phi, whose value
//! is the mark in the first iteration and 1 in the others.

use std::collections::HashMap;

use holloway_llvm::{Builder, Instruction, Type, Value};

use super::graph::{BlockEdge, BlockGraph};
use super::loop_counts::{AccumulatorKey, IterationCounters};
use super::probe::Probe;
use super::promote::PromotedLoop;
use super::variable::{CounterNumber, ProbeVariable};
use crate::lower::{BlockIndex, FunctionParts};

/// The mark that the first iteration adds.
const MARK: i64 = i64::MIN;

/// The phis of the value that each iteration adds, in loops whose first iteration adds a mark.
pub(super) struct FirstIterationMarks<'a, 'm> {
    /// By block of such a loop: the loop, and the value that the iteration adds.
    units: HashMap<BlockIndex, (&'a PromotedLoop, Value<'m>)>,
    phis: Vec<(&'a PromotedLoop, Instruction<'m>)>,
}

impl<'a, 'm> FirstIterationMarks<'a, 'm> {
    /// Makes the phis, but not yet their incoming values.
    pub(super) fn new(parts: &FunctionParts<'m>, loops: &'a [PromotedLoop]) -> Self {
        let word = Type::i64(parts.function.module());
        let mut marks = Self {
            units: HashMap::new(),
            phis: Vec::new(),
        };
        for promoted in loops.iter().filter(|promoted| promoted.counts.are_marked()) {
            let head = parts.blocks[promoted.natural.head].block;
            let phi = Builder::at_top(head).phi(word);
            let blocks = promoted.natural.blocks.iter();
            marks
                .units
                .extend(blocks.map(|&block| (block, (promoted, phi.value()))));
            marks.phis.push((promoted, phi));
        }
        marks
    }

    /// The value that counts in this block add to an accumulator. `None` if it is always 1. Only
    /// counts of iterations are marked.
    pub(super) fn unit(&self, block: BlockIndex, accumulator: usize) -> Option<Value<'m>> {
        let (promoted, unit) = self.units.get(&block)?;
        let key = promoted.counts.keys.get(accumulator)?;
        matches!(key, AccumulatorKey::Iterations(_)).then_some(*unit)
    }

    /// Gives the phis their incoming values.
    pub(super) fn complete_phis(&self, parts: &FunctionParts<'m>, graph: &BlockGraph) {
        let word = Type::i64(parts.function.module());
        for &(promoted, phi) in &self.phis {
            let natural = &promoted.natural;
            let head = parts.blocks[natural.head].block;
            for &source in &graph.sources[natural.head] {
                let is_back_edge = natural.blocks.contains(&source);
                let unit = word.int(if is_back_edge { 1 } else { MARK });
                let info = &parts.blocks[source];
                // A phi has an incoming value for each edge, and parallel edges count separately.
                for target in info.terminator().successors() {
                    if target == head {
                        phi.add_incoming(unit, info.block);
                    }
                }
            }
        }
    }
}

/// Writes back a loop's counts on one of the edges by which control leaves the loop.
pub(super) struct WriteBack<'a, 'm> {
    pub(super) probe: &'a Probe<'a, 'm>,
    pub(super) builder: Builder<'m>,
    pub(super) promoted: &'a PromotedLoop,
    /// The edge from a block of the loop to a block after the loop.
    pub(super) edge: BlockEdge,
}

impl<'m> WriteBack<'_, 'm> {
    /// Adds the accumulators' values to the counters. `register` is the path register, and `counts`
    /// has the accumulators' values.
    pub(super) fn write(
        &self,
        register: &mut ProbeVariable<'_, 'm>,
        counts: Vec<CounterNumber<'m>>,
    ) {
        let word = self.word();
        let mut counts: Vec<Value<'m>> = counts
            .into_iter()
            .map(|count| count.register.unwrap_or_else(|| word.int(count.increment)))
            .collect();
        let are_marked = self.promoted.counts.are_marked();
        let mut first = are_marked.then(|| self.is_first_iteration(&counts));
        self.correct(register, &mut counts, first);
        for (&key, &count) in self.promoted.counts.keys.iter().zip(&counts) {
            match key {
                AccumulatorKey::Fixed(number) => {
                    let number = CounterNumber::constant(number);
                    self.probe.add(&self.builder, number, count);
                }
                AccumulatorKey::Iterations(counters) if are_marked => {
                    self.add_marked(register, counters, count);
                }
                AccumulatorKey::Iterations(counters) => {
                    first = Some(self.add_all(register, counters, count));
                }
            }
        }
        if let (Some(index), Some(first)) = (self.promoted.steady_loop, first) {
            register.leave_loop(&self.builder, self.edge, index, first);
        }
    }

    fn word(&self) -> Type<'m> {
        Type::i64(self.probe.module)
    }

    /// Whether control leaves the loop in its first iteration. Then no iteration was counted, or
    /// only the first was, before its path ended.
    fn is_first_iteration(&self, counts: &[Value<'m>]) -> Value<'m> {
        let loop_counts = &self.promoted.counts;
        let keys = loop_counts.keys.iter().zip(counts);
        let iterations = keys.filter(|(key, _)| loop_counts.is_summand(**key));
        let sum = iterations.fold(self.word().int(0), |sum, (_, &count)| {
            self.builder.add(sum, count)
        });
        let is_early = loop_counts.is_early(self.edge.to);
        self.equals(sum, if is_early { MARK } else { 0 })
    }

    fn equals(&self, value: Value<'m>, number: i64) -> Value<'m> {
        let difference = self.builder.subtract(value, self.word().int(number));
        self.builder.is_null(difference)
    }

    /// Subtracts counts that were added before their path ended, and counts that one accumulator
    /// added for others ([`CountJoin::total`](super::loop_counts::CountJoin::total)).
    fn correct(
        &self,
        register: &ProbeVariable<'_, 'm>,
        counts: &mut [Value<'m>],
        first: Option<Value<'m>>,
    ) {
        let keys = &self.promoted.counts.keys;
        let position = |wanted: AccumulatorKey| {
            let mut keys = keys.iter();
            keys.position(|&key| key == wanted)
                .expect("all keys are listed")
        };
        let word = self.word();
        // Each count to subtract was added in the iteration that left the loop.
        let later_unit = word.int(1);
        let unit = first.map_or(later_unit, |first| {
            self.builder.select(first, word.int(MARK), later_unit)
        });
        if first.is_some() {
            for count in &self.promoted.counts.counts {
                if let Some(key @ AccumulatorKey::Iterations(_)) = count.key
                    && count.early_exits.contains(&self.edge.to)
                {
                    let key = position(key);
                    counts[key] = self.builder.subtract(counts[key], unit);
                }
            }
        }
        for join in &self.promoted.counts.joins {
            let mut arms: Vec<(usize, i64)> = Vec::new();
            for arm in &join.arms {
                let arm = (position(arm.key), arm.number);
                if !arms.contains(&arm) {
                    arms.push(arm);
                }
            }
            if join.early_exits.contains(&self.edge.to) {
                let register = register.bottom(self.edge.from);
                for &(key, number) in &arms {
                    let is_early = self.equals(register, number);
                    let early = self.builder.select(is_early, unit, word.int(0));
                    counts[key] = self.builder.subtract(counts[key], early);
                }
            }
            if let Some(total) = join.total {
                let total = position(total);
                for &(key, _) in &arms {
                    counts[total] = self.builder.subtract(counts[total], counts[key]);
                }
            }
        }
    }

    /// Adds a marked count: 1 to the first iteration's counter if the mark is set, and the other
    /// bits to the counter of later iterations.
    fn add_marked(
        &self,
        register: &ProbeVariable<'_, 'm>,
        counters: IterationCounters,
        count: Value<'m>,
    ) {
        let word = self.word();
        let is_marked = self.builder.is_negative(count);
        let first_count = self.builder.select(is_marked, word.int(1), word.int(0));
        self.add_first(register, counters, first_count);
        let later_count = self.builder.and(count, word.int(!MARK));
        let later = CounterNumber::constant(counters.later);
        self.probe.add(&self.builder, later, later_count);
    }

    /// Adds the count of the only accumulator that counts iterations. If the count is not 0, the
    /// first iteration is among them. Returns whether the count is 0.
    fn add_all(
        &self,
        register: &ProbeVariable<'_, 'm>,
        counters: IterationCounters,
        count: Value<'m>,
    ) -> Value<'m> {
        let word = self.word();
        let is_zero = self.builder.is_null(count);
        let first_count = self.builder.select(is_zero, word.int(0), word.int(1));
        self.add_first(register, counters, first_count);
        let minus_first = self.builder.select(is_zero, word.int(0), word.int(-1));
        let later_count = self.builder.add(count, minus_first);
        let later = CounterNumber::constant(counters.later);
        self.probe.add(&self.builder, later, later_count);
        is_zero
    }

    /// Adds to the first iteration's counter, whose number depends on the path register's value at
    /// the loop's entry.
    fn add_first(
        &self,
        register: &ProbeVariable<'_, 'm>,
        counters: IterationCounters,
        count: Value<'m>,
    ) {
        let first = CounterNumber {
            register: Some(register.at_loop_entry(counters.steady_loop)),
            increment: counters.first,
        };
        self.probe.add(&self.builder, first, count);
    }
}
