//! The likely count at the end of an iteration: a comparison tells it from the others.
//!
//! A processor forwards what an increment has stored to the next increment of the same address at
//! no cost, if it sees that the address is the same: by the names of the registers in it, as long
//! as none was written in between. An iteration that ends with `incq counters(%block,%register,8);
//! mov $start,%register` writes a register each time, and the next increment waits until the store
//! can be read back. So where one path around the loop is likely, the probe compares the register
//! with the likely number and increments that counter by its own address:
//! ```text
//! cmp  $number,%register
//! jne  cold
//! incq counters+8*number(%block)
//! ```
//! Iterations start with the same number as the likely path ends with, if the path adds nothing to
//! it. Then nothing is set.

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

/// All executions of a count.
const ALL: u128 = 1 << 32;
/// The least share of executions for which the comparison must be right.
const LEAST_SHARE: u128 = ALL / 4;

/// A count whose register is likely to be one certain number.
#[derive(Clone, Copy, Debug)]
pub(super) struct LikelyCount {
    /// The number of the counter, less the register.
    pub(super) increment: i64,
    /// The likely value of the register.
    number: i64,
    /// The value that the register is set to after the count.
    start: i64,
}

/// The likely counts, by block: the last count of a block that ends one iteration and starts the
/// next.
pub(super) fn likely_counts(
    graph: &BlockGraph,
    promotion: &Promotion,
    frequencies: &TransitionFrequencies,
) -> HashMap<BlockIndex, LikelyCount> {
    let (register, sites) = (&promotion.register, &promotion.sites);
    let mut found = HashMap::new();
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
            && let Some(number) = guess(value, graph, promotion, frequencies)
        {
            let likely = LikelyCount {
                increment,
                number,
                start,
            };
            found.insert(block, likely);
        }
    }
    found
}

/// The likely number of a value that is not constant: the number on the most frequent way to it, if
/// that is frequent enough.
fn guess(
    value: RegisterValue,
    graph: &BlockGraph,
    promotion: &Promotion,
    frequencies: &TransitionFrequencies,
) -> Option<i64> {
    let (register, sites) = (&promotion.register, &promotion.sites);
    let (mut value, mut added) = (value, 0i64);
    let mut seen = BTreeSet::new();
    let mut share = ALL;
    while seen.insert(value) {
        match value {
            RegisterValue::Constant(number) => {
                return (share >= LEAST_SHARE && seen.len() > 1)
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

/// The place of a likely count, marked by a frozen constant.
pub(super) struct LikelyCountSite<'m> {
    marker: Instruction<'m>,
    register: Value<'m>,
    likely: LikelyCount,
}

impl<'m> LikelyCountSite<'m> {
    /// Marks the place.
    pub(super) fn new(builder: &Builder<'m>, register: Value<'m>, likely: LikelyCount) -> Self {
        let start = register.kind().int(likely.start);
        let marker = builder.freeze(start).as_instruction();
        Self {
            marker: marker.expect("a frozen value is an instruction"),
            register,
            likely,
        }
    }

    /// The register's next start value, if the register has that value already on the likely path.
    pub(super) fn unchanged_start(&self) -> Option<Value<'m>> {
        (self.likely.number == self.likely.start).then(|| self.marker.value())
    }

    /// Puts the comparison and both counts in the marked place.
    pub(super) fn split(self, parts: &FunctionParts<'m>, probe: &Probe<'_, 'm>) {
        let LikelyCount {
            increment,
            number,
            start,
        } = self.likely;
        let rest = self.marker.block();
        let head = self.marker.split_before("holloway.turn");
        let hot = rest.insert_before("holloway.likely");
        let cold = parts.function.append_block("holloway.other");

        let builder = Builder::at_end(head);
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
        builder.branch(rest);
        let builder = Builder::at_end(cold);
        let register = Some(self.register);
        probe.count(
            &builder,
            CounterNumber {
                register,
                increment,
            },
        );
        builder.branch(rest);

        if number != start {
            self.marker.replace_by(word.int(start));
            return;
        }
        let phi = Builder::at_top(rest).phi(word);
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

    /// A loop whose iterations take one of two ways to their end: the first `often` times, the
    /// second once.
    fn likely_of(often: u64, added: [i64; 2]) -> HashMap<BlockIndex, LikelyCount> {
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
        let ways = [
            ((bb(2), bb(4)), often),
            ((bb(3), bb(4)), 1),
            ((bb(0), bb(1)), 1),
            ((bb(5), bb(1)), often),
        ];
        likely_counts(&graph, &promotion, &TransitionFrequencies(ways.into()))
    }

    #[test]
    fn a_turn_that_goes_the_same_way_again_sets_nothing() {
        let found = likely_of(5, [0, 2]);
        let likely = found[&bb(5)];
        assert_eq!((found.len(), likely.number, likely.start), (1, 7, 7));
    }

    #[test]
    fn what_the_likely_way_adds_is_compared_with() {
        let likely = likely_of(5, [2, 0])[&bb(5)];
        assert_eq!((likely.number, likely.start), (9, 7));
    }

    #[test]
    fn where_a_loop_turns_next_to_never_what_comes_in_is_compared_with() {
        let likely = likely_of(0, [0, 2])[&bb(5)];
        assert_eq!((likely.number, likely.start), (11, 7));
    }
}
