//! Makes the count at the end of an iteration cheaper if one path through the iteration is likely.
//!
//! A processor forwards the value that an increment stores to the next increment of the same
//! address without delay, if it recognizes that the address is the same. It compares the address
//! registers, and none of them may have been written in between. An iteration that ends with `incq
//! counters(%block,%register,8); mov $start,%register` writes an address register each time. Then
//! the next increment waits until the store can be read back. So if one path is likely, the probe
//! compares the path register with the likely number. If they are equal, it increments that path's
//! counter at a constant displacement:
//! ```text
//! cmp  $number,%register
//! jne  cold
//! incq counters+8*number(%block)
//! ```
//! If the likely path adds nothing to the register, the register already has the number with which
//! the next iteration starts. Then the likely path does not set the register.

use std::collections::{BTreeSet, HashMap};

use holloway_flow::{Action, CountBase};
use holloway_llvm::{Builder, Instruction, Metadata, Type, Value};

use super::frequencies::TransitionFrequencies;
use super::graph::BlockGraph;
use super::probe::Probe;
use super::promote::Promotion;
use super::register::{RegisterValue, walk};
use super::variable::CounterNumber;
use crate::lower::{BlockIndex, FunctionParts};

/// The share of all executions, as a fixed-point number.
const ALL: u128 = 1 << 32;
/// The minimum share of executions in which the likely number must be right.
const MIN_SHARE: u128 = ALL / 4;

/// A count at which the path register is likely to have one number.
#[derive(Clone, Copy, Debug)]
pub(super) struct LikelyCount {
    /// The number of the counter, minus the register.
    pub(super) increment: i64,
    /// The likely value of the register.
    number: i64,
    /// The value that the register is set to after the count.
    start: i64,
}

/// The likely counts, by block. A likely count is the last count of a block, and the path register
/// is set directly after it, which starts the next iteration.
pub(super) fn likely_counts(
    graph: &BlockGraph,
    promotion: &Promotion,
    frequencies: &TransitionFrequencies,
) -> HashMap<BlockIndex, LikelyCount> {
    let (register, sites) = (&promotion.register, &promotion.sites);
    let mut counts_by_block = HashMap::new();
    for (block, top) in BlockIndex::enumerate(&register.top) {
        let Some(top) = *top else { continue };
        let mut actions = Vec::new();
        walk(block, top, sites, |_, action, value| {
            actions.push((action, value));
        });
        let [.., (count, value), (Action::Set(start), _)] = actions[..] else {
            continue;
        };
        if let Action::Count {
            base: CountBase::Register,
            increment,
        } = count
            && let Some(number) = likely_number(value, graph, promotion, frequencies)
        {
            let likely = LikelyCount {
                increment,
                number,
                start,
            };
            counts_by_block.insert(block, likely);
        }
    }
    counts_by_block
}

/// The likely number of a register value that is not constant. At each phi, the search follows the
/// most frequent edge. `None` if the share of executions along these edges is too small.
fn likely_number(
    value: RegisterValue,
    graph: &BlockGraph,
    promotion: &Promotion,
    frequencies: &TransitionFrequencies,
) -> Option<i64> {
    let (register, sites) = (&promotion.register, &promotion.sites);
    let (mut value, mut added) = (value, 0i64);
    let mut visited = BTreeSet::new();
    let mut share = ALL;
    while visited.insert(value) {
        match value {
            RegisterValue::Constant(number) => {
                return (share >= MIN_SHARE && visited.len() > 1)
                    .then_some(number.wrapping_add(added));
            }
            RegisterValue::Phi(block) => {
                let sources = graph.sources[block].iter().copied();
                let sources = sources.filter(|&source| register.bottom[source].is_some());
                let sum: u128 = sources
                    .clone()
                    .map(|source| u128::from(frequencies.between(source, block)))
                    .sum();
                let best = sources.max_by_key(|&source| frequencies.between(source, block))?;
                share = share * u128::from(frequencies.between(best, block)) / sum.max(1);
                value = register.bottom[best]?;
            }
            RegisterValue::Sum(block, nth) => {
                let mut sums = 0;
                let mut before = None;
                walk(block, register.top[block]?, sites, |_, action, value| {
                    if let Action::Add(number) = action {
                        sums += 1;
                        if sums == nth {
                            before = Some((value, number));
                        }
                    }
                });
                let (base, number) = before?;
                added = added.wrapping_add(number);
                value = base;
            }
            RegisterValue::Unset
            | RegisterValue::Steady(..)
            | RegisterValue::LoopExit(_)
            | RegisterValue::LoopEntry(_) => return None,
        }
    }
    None
}

/// The position of a likely count. A frozen constant marks it until the block is split there.
pub(super) struct LikelyCountSite<'m> {
    marker: Instruction<'m>,
    register: Value<'m>,
    likely: LikelyCount,
}

impl<'m> LikelyCountSite<'m> {
    /// Marks the position at which `builder` inserts.
    pub(super) fn new(builder: &Builder<'m>, register: Value<'m>, likely: LikelyCount) -> Self {
        let start = register.kind().int(likely.start);
        let marker = builder.freeze(start).as_instruction();
        Self {
            marker: marker.expect("a frozen value is an instruction"),
            register,
            likely,
        }
    }

    /// The value with which the next iteration starts, if the register already has this value on
    /// the likely path.
    pub(super) fn unchanged_start(&self) -> Option<Value<'m>> {
        (self.likely.number == self.likely.start).then(|| self.marker.value())
    }

    /// Splits the block at the marker, and inserts the comparison and both counts.
    pub(super) fn split(self, parts: &FunctionParts<'m>, probe: &Probe<'_, 'm>) {
        let LikelyCount {
            increment,
            number,
            start,
        } = self.likely;
        let after_counts = self.marker.block();
        let comparison = self.marker.split_before("holloway.turn");
        let hot = after_counts.insert_before("holloway.likely");
        let cold = parts.function.append_block("holloway.other");

        let builder = Builder::at_end(comparison);
        let word = Type::i64(probe.module);
        let difference = builder.subtract(self.register, word.int(number));
        let branch = builder.branch_if(builder.is_null(difference), hot, cold);
        let weights = [8, 1].map(|weight| Metadata::constant(Type::i32(probe.module).int(weight)));
        let words = Metadata::string(probe.module, "branch_weights");
        let weights = Metadata::node(probe.module, &[words, weights[0], weights[1]]);
        branch.set_metadata(probe.module.metadata_kind("prof"), weights);

        let builder = Builder::at_end(hot);
        probe.count(
            &builder,
            CounterNumber::constant(increment.wrapping_add(number)),
        );
        builder.branch(after_counts);
        let builder = Builder::at_end(cold);
        let register = Some(self.register);
        probe.count(
            &builder,
            CounterNumber {
                register,
                increment,
            },
        );
        builder.branch(after_counts);

        if number != start {
            self.marker.replace_by(word.int(start));
            return;
        }
        let phi = Builder::at_top(after_counts).phi(word);
        phi.add_incoming(self.register, hot);
        phi.add_incoming(word.int(start), cold);
        self.marker.replace_by(phi.value());
    }
}

#[cfg(test)]
mod tests {
    use super::super::sites::Stop;
    use super::*;

    fn bb(index: usize) -> BlockIndex {
        BlockIndex::new(index)
    }

    const COUNT: Action = Action::Count {
        base: CountBase::Register,
        increment: 0,
    };

    /// The likely counts of a loop whose iterations take one of two branches: the first `often`
    /// times, and the second once. `added` are the numbers that the branches add.
    fn likely_counts_of_loop(often: u64, added: [i64; 2]) -> HashMap<BlockIndex, LikelyCount> {
        let successors = [&[1][..], &[2, 3], &[4], &[4], &[5, 6], &[1], &[]];
        let add = |number| match number {
            0 => vec![],
            _ => vec![Action::Add(number)],
        };
        let actions = [
            vec![Action::Set(9)],
            vec![],
            add(added[0]),
            add(added[1]),
            vec![],
            vec![COUNT, Action::Set(7)],
            vec![COUNT],
        ];
        let sites = actions.map(|actions| vec![Stop::new(0, actions)]);
        let graph = BlockGraph::new(
            successors
                .map(|targets| targets.iter().map(|&target| bb(target)).collect())
                .to_vec(),
        );
        let promotion = Promotion::none(&graph, sites.to_vec());
        let frequencies = [
            ((bb(2), bb(4)), often),
            ((bb(3), bb(4)), 1),
            ((bb(0), bb(1)), 1),
            ((bb(5), bb(1)), often),
        ];
        likely_counts(
            &graph,
            &promotion,
            &TransitionFrequencies(frequencies.into()),
        )
    }

    #[test]
    fn a_likely_branch_that_adds_nothing_needs_no_setting() {
        let counts_by_block = likely_counts_of_loop(5, [0, 2]);
        let likely = counts_by_block[&bb(5)];
        assert_eq!(
            (counts_by_block.len(), likely.number, likely.start),
            (1, 7, 7)
        );
    }

    #[test]
    fn the_likely_number_includes_what_the_branch_adds() {
        let likely = likely_counts_of_loop(5, [2, 0])[&bb(5)];
        assert_eq!((likely.number, likely.start), (9, 7));
    }

    #[test]
    fn in_a_loop_that_rarely_repeats_the_number_at_its_entry_is_likely() {
        let likely = likely_counts_of_loop(0, [0, 2])[&bb(5)];
        assert_eq!((likely.number, likely.start), (11, 7));
    }
}
