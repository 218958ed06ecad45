//! The likely count at the end of a turn, told from the others by a comparison.
//!
//! A processor passes what an increment has stored to the next one of the same address at no cost, if it can see that the address is the
//! same: by the names of the registers in it, as long as none was written in between. A turn that ends with
//! `incq counters(%block,%register,8); mov $start,%register` writes one each time, and the next increment waits until the
//! store can be read back. So where one way round is likely, its number is compared with, and its counter incremented
//! by its own address:
//! ```text
//! cmp  $number,%register
//! jne  cold
//! incq counters+8*number(%block)
//! ```
//! Turns start with the same number as the likely way ends with, if nothing was added on it: then nothing is set.

use std::collections::{BTreeSet, HashMap};

use holloway_flow::{Action, CountBase};
use holloway_llvm::{Builder, Instruction, Metadata, Type, Value as LlvmValue};

use super::probe::Probe;
use super::promote::Promotion;
use super::register::{Graph, Value, walk};
use crate::lower::{Layout, Lowered};

/// All that come to a count.
const ALL: u128 = 1 << 32;
/// Those for which the comparison has to be right.
const LEAST_SHARE: u128 = ALL / 4;

/// How often ways between blocks are gone.
pub(super) struct Heat(HashMap<(usize, usize), u64>);

impl Heat {
    /// Sums the weights of the edges between each two blocks.
    pub(super) fn new(lowered: &Lowered<'_>, weights: &[u64]) -> Self {
        let mut heat: HashMap<(usize, usize), u64> = HashMap::new();
        let nodes = &lowered.nodes;
        for (edge, &weight) in lowered.cfg.edges().iter().zip(weights) {
            let (from, to) = (nodes.get(edge.from.index()), nodes.get(edge.to.index()));
            if let (Some(from), Some(to)) = (from, to)
                && to.place == 0
            {
                let sum = heat.entry((from.block, to.block)).or_default();
                *sum = sum.saturating_add(weight);
            }
        }
        Self(heat)
    }

    /// How often it is gone from the one block to the other.
    pub(super) fn of(&self, from: usize, to: usize) -> u64 {
        self.0.get(&(from, to)).copied().unwrap_or(0)
    }
}

/// A count whose register is likely to be a certain number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Likely {
    /// What is added to the register for the counter's number.
    pub(super) increment: i64,
    /// What the register is likely to be.
    number: i64,
    /// What it is set to then.
    start: i64,
}

/// The likely counts, by block: the last of those that end a turn and start the next.
pub(super) fn likely(graph: &Graph, promotion: &Promotion, heat: &Heat) -> HashMap<usize, Likely> {
    let (register, sites) = (&promotion.register, &promotion.sites);
    let mut found = HashMap::new();
    for (block, top) in register.top.iter().enumerate() {
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
            && let Some(number) = guess(value, graph, promotion, heat)
        {
            let likely = Likely {
                increment,
                number,
                start,
            };
            found.insert(block, likely);
        }
    }
    found
}

/// What the register is likely to be, where it is this value and that isn't a number: by the way that is gone most, if it is gone
/// often enough.
fn guess(value: Value, graph: &Graph, promotion: &Promotion, heat: &Heat) -> Option<i64> {
    let (register, sites) = (&promotion.register, &promotion.sites);
    let (mut value, mut added) = (value, 0i64);
    let mut seen = BTreeSet::new();
    let mut share = ALL;
    while seen.insert(value) {
        match value {
            Value::Constant(number) => {
                return (share >= LEAST_SHARE && seen.len() > 1)
                    .then_some(number.wrapping_add(added));
            }
            Value::Phi(block) => {
                let sources = graph.sources[block].iter().copied();
                let sources = sources.filter(|&source| register.bottom[source].is_some());
                let sum: u128 = sources
                    .clone()
                    .map(|source| u128::from(heat.of(source, block)))
                    .sum();
                let best = sources.max_by_key(|&source| heat.of(source, block))?;
                share = share * u128::from(heat.of(best, block)) / sum.max(1);
                value = register.bottom[best]?;
            }
            Value::Sum(block, nth) => {
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
            Value::Unset | Value::Turn(..) | Value::Left(_) | Value::Came(_) => return None,
        }
    }
    None
}

/// A likely count whose place is marked.
pub(super) struct Told<'m> {
    marker: Instruction<'m>,
    register: LlvmValue<'m>,
    likely: Likely,
}

impl<'m> Told<'m> {
    /// Marks the place.
    pub(super) fn new(builder: &Builder<'m>, register: LlvmValue<'m>, likely: Likely) -> Self {
        let start = register.kind().int(likely.start);
        let marker = builder.freeze(start).as_instruction();
        Self {
            marker: marker.expect("a frozen value is an instruction"),
            register,
            likely,
        }
    }

    /// What the register is set to, if that is what it is already on the likely way.
    pub(super) fn held(&self) -> Option<LlvmValue<'m>> {
        (self.likely.number == self.likely.start).then(|| self.marker.value())
    }

    /// Puts the comparison and both counts in the marked place.
    pub(super) fn split(self, layout: &Layout<'m>, probe: &Probe<'_, 'm>) {
        let Likely {
            increment,
            number,
            start,
        } = self.likely;
        let rest = self.marker.block();
        let head = self.marker.split_before("holloway.turn");
        let hot = rest.insert_before("holloway.likely");
        let cold = layout.function.append_block("holloway.other");

        let builder = Builder::at_end(head);
        let word = Type::i64(probe.module);
        let difference = builder.subtract(self.register, word.int(number));
        let branch = builder.branch_if(builder.is_null(difference), hot, cold);
        let weights = [8, 1].map(|weight| Metadata::constant(Type::i32(probe.module).int(weight)));
        let words = Metadata::string(probe.module, "branch_weights");
        let weights = Metadata::node(probe.module, &[words, weights[0], weights[1]]);
        branch.set_metadata(probe.module.metadata_kind("prof"), weights);

        let builder = Builder::at_end(hot);
        probe.count(&builder, None, increment.wrapping_add(number));
        builder.branch(rest);
        let builder = Builder::at_end(cold);
        probe.count(&builder, Some(self.register), increment);
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

    const COUNT: Action = Action::Count {
        base: CountBase::Register,
        increment: 0,
    };

    /// A loop whose turn goes one of two ways to where it ends; the first is gone so often, the second once and adds.
    fn likely_of(often: u64, added: [i64; 2]) -> HashMap<usize, Likely> {
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
        let sites = actions.map(|actions| vec![Stop { index: 0, actions }]);
        let graph = Graph::new(successors.map(<[_]>::to_vec).to_vec());
        let promotion = Promotion::none(&graph, sites.to_vec());
        let ways = [((2, 4), often), ((3, 4), 1), ((0, 1), 1), ((5, 1), often)];
        likely(&graph, &promotion, &Heat(ways.into()))
    }

    #[test]
    fn a_turn_that_goes_the_same_way_again_sets_nothing() {
        let found = likely_of(5, [0, 2]);
        let likely = found[&5];
        assert_eq!((found.len(), likely.number, likely.start), (1, 7, 7));
    }

    #[test]
    fn what_the_likely_way_adds_is_compared_with() {
        let likely = likely_of(5, [2, 0])[&5];
        assert_eq!((likely.number, likely.start), (9, 7));
    }

    #[test]
    fn where_a_loop_turns_next_to_never_what_comes_in_is_compared_with() {
        let likely = likely_of(0, [0, 2])[&5];
        assert_eq!((likely.number, likely.start), (11, 7));
    }
}
