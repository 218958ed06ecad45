//! Makes the LLVM values of a variable that probes use: the path register, or an accumulator of
//! loops' counters.

use std::collections::HashMap;

use holloway_flow::{Action, CountBase};
use holloway_llvm::{Block, Builder, Instruction, Type, Value};

use super::anchors::Anchors;
use super::graph::BlockEdge;
use super::register::{RegisterFlow, RegisterValue, SteadyLoop, walk};
use super::sites::{Destination, Sites};
use crate::lower::{BlockIndex, FunctionParts};

/// The number of the counter that a count increments: `increment`, plus `register` if that is
/// present.
#[derive(Clone, Copy)]
pub(super) struct CounterNumber<'m> {
    /// The variable's value. `None` if it is a constant, which `increment` then includes.
    pub(super) register: Option<Value<'m>>,
    pub(super) increment: i64,
}

impl CounterNumber<'_> {
    /// A number that is known at weaving time.
    pub(super) fn constant(number: i64) -> Self {
        Self {
            register: None,
            increment: number,
        }
    }
}

/// One variable while its LLVM values are being made.
pub(super) struct ProbeVariable<'a, 'm> {
    parts: &'a FunctionParts<'m>,
    sites: &'a Sites,
    register: &'a RegisterFlow,
    loops: &'a [SteadyLoop],
    phis: Vec<(RegisterValue, Instruction<'m>)>,
    values: HashMap<RegisterValue, Value<'m>>,
    /// By block: an LLVM value that phis use in place of the equal constant at the block's end.
    end_values: HashMap<BlockIndex, Value<'m>>,
}

impl<'a, 'm> ProbeVariable<'a, 'm> {
    /// Makes the phis, but not yet their incoming values. The phis must exist before other
    /// instructions, because they come first in their blocks.
    pub(super) fn new(
        parts: &'a FunctionParts<'m>,
        sites: &'a Sites,
        register: &'a RegisterFlow,
        loops: &'a [SteadyLoop],
    ) -> Self {
        let mut variable = Self {
            parts,
            sites,
            register,
            loops,
            phis: Vec::new(),
            values: HashMap::new(),
            end_values: HashMap::new(),
        };
        for &value in &register.needed {
            let block = match value {
                RegisterValue::Phi(block) => block,
                RegisterValue::LoopEntry(index) => loops[index].head,
                _ => continue,
            };
            let word = Type::i64(parts.function.module());
            let phi = Builder::at_top(parts.blocks[block].block).phi(word);
            variable.values.insert(value, phi.value());
            variable.phis.push((value, phi));
        }
        variable
    }

    /// The LLVM value of a register value. The instruction that computes it must exist already.
    pub(super) fn value_of(&self, value: RegisterValue) -> Value<'m> {
        let word = Type::i64(self.parts.function.module());
        match value {
            RegisterValue::Constant(number) | RegisterValue::Steady(_, number) => word.int(number),
            RegisterValue::Unset => word.int(0),
            _ => self.values[&value],
        }
    }

    /// The variable's value at the entry of a steady loop.
    pub(super) fn at_loop_entry(&self, steady_loop: usize) -> Value<'m> {
        self.value_of(self.register.at_loop_entry(self.loops, steady_loop))
    }

    /// The variable's value at the end of a block.
    pub(super) fn bottom(&self, block: BlockIndex) -> Value<'m> {
        self.value_of(self.register.bottom[block].expect("control can reach the block"))
    }

    /// Makes phis use `value` in place of the equal constant at the end of a block.
    pub(super) fn replace_at_end(&mut self, block: BlockIndex, value: Value<'m>) {
        self.end_values.insert(block, value);
    }

    /// Makes the variable's value after a steady loop, at the top of the edge's target, if the
    /// value is needed. `first` is an LLVM value: whether control left the loop in its first
    /// iteration.
    pub(super) fn leave_loop(
        &mut self,
        builder: &Builder<'m>,
        edge: BlockEdge,
        steady_loop: usize,
        first: Value<'m>,
    ) {
        let exit_value = RegisterValue::LoopExit(edge.to);
        if !self.register.needed.contains(&exit_value) {
            return;
        }
        let word = Type::i64(self.parts.function.module());
        let later_value = self.bottom(edge.from);
        let start = word.int(self.loops[steady_loop].start);
        let distance = builder.subtract(later_value, start);
        let first_value = builder.add(self.at_loop_entry(steady_loop), distance);
        let value = builder.select(first, first_value, later_value);
        self.values.insert(exit_value, value);
    }

    /// Makes the additions of a block, and calls `count` for each count. Must be called for the
    /// blocks in reverse postorder.
    pub(super) fn step(
        &mut self,
        anchors: &Anchors,
        block: BlockIndex,
        count: impl FnMut(&Builder<'m>, CounterNumber<'m>, Destination),
    ) {
        self.step_by(None, anchors, block, count);
    }

    /// Like [`Self::step`], but adds `unit` instead of each number if there is a unit. All these
    /// numbers must be 1.
    pub(super) fn step_by(
        &mut self,
        unit: Option<Value<'m>>,
        anchors: &Anchors,
        block: BlockIndex,
        mut count: impl FnMut(&Builder<'m>, CounterNumber<'m>, Destination),
    ) {
        let top = self.register.top[block].expect("control can reach the block");
        let mut sums = 0;
        walk(block, top, self.sites, |stop, action, value| {
            let builder = Builder::before(anchors.anchor(self.parts, block, stop.index));
            match action {
                Action::Set(_) => {}
                Action::Add(number) => {
                    sums += 1;
                    let sum = RegisterValue::Sum(block, sums);
                    if self.register.needed.contains(&sum) {
                        let number = Type::i64(self.parts.function.module()).int(number);
                        let before = builder.freeze(self.value_of(value));
                        let new_sum = builder.add(before, unit.unwrap_or(number));
                        self.values.insert(sum, new_sum);
                    }
                }
                Action::Count { base, increment } => {
                    let number = match (base, value) {
                        (CountBase::Zero, _) => CounterNumber::constant(increment),
                        (CountBase::Register, RegisterValue::Constant(number)) => {
                            CounterNumber::constant(increment.wrapping_add(number))
                        }
                        (CountBase::Register, _) => CounterNumber {
                            register: Some(self.value_of(value)),
                            increment,
                        },
                    };
                    count(&builder, number, stop.destination);
                }
            }
        });
    }

    /// Gives the phis their incoming values. Must be called after all values exist.
    pub(super) fn complete_phis(&self, position: &HashMap<Block<'m>, BlockIndex>) {
        let mut phis_in: HashMap<BlockIndex, Vec<(RegisterValue, Instruction<'m>)>> =
            HashMap::new();
        for &(value, phi) in &self.phis {
            phis_in
                .entry(position[&phi.block()])
                .or_default()
                .push((value, phi));
        }
        for (source, info) in BlockIndex::enumerate(&self.parts.blocks) {
            let bottom = self.register.bottom[source].unwrap_or(RegisterValue::Unset);
            // A phi has an incoming value for each edge, and parallel edges count separately.
            for target in info.terminator().successors() {
                let phis = position.get(&target).and_then(|target| phis_in.get(target));
                for &(value, phi) in phis.into_iter().flatten() {
                    let changes_value = match value {
                        RegisterValue::LoopEntry(index) => {
                            self.loops[index].entries.contains(&source)
                        }
                        _ => true,
                    };
                    let incoming = if changes_value {
                        let end_value = self.end_values.get(&source).copied();
                        end_value.unwrap_or_else(|| self.value_of(bottom))
                    } else {
                        phi.value()
                    };
                    phi.add_incoming(incoming, info.block);
                }
            }
        }
    }
}
