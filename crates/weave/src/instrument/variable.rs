//! A variable of the probes as LLVM values: the path register, or an accumulator of loops'
//! counters.

use std::collections::HashMap;

use holloway_flow::{Action, CountBase};
use holloway_llvm::{Block, Builder, Instruction, Type, Value};

use super::anchors::Anchors;
use super::graph::BlockEdge;
use super::register::{RegisterFlow, RegisterValue, SteadyLoop, walk};
use super::sites::{Destination, Sites};
use crate::lower::{BlockIndex, FunctionParts};

/// The number of the counter that a count increments: `increment`, plus `register` if there is one.
#[derive(Clone, Copy)]
pub(super) struct CounterNumber<'m> {
    /// The variable, where it is not a constant.
    pub(super) register: Option<Value<'m>>,
    pub(super) increment: i64,
}

impl CounterNumber<'_> {
    /// A number that is known when the program is woven.
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
    /// By block: the value that replaces the constant at its end.
    replaced: HashMap<BlockIndex, Value<'m>>,
}

impl<'a, 'm> ProbeVariable<'a, 'm> {
    /// Makes the phis, without their values yet: phis stand before all other instructions.
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
            replaced: HashMap::new(),
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

    /// The LLVM value of a register value that exists already.
    pub(super) fn make(&self, value: RegisterValue) -> Value<'m> {
        let word = Type::i64(self.parts.function.module());
        match value {
            RegisterValue::Constant(number) | RegisterValue::Steady(_, number) => word.int(number),
            RegisterValue::Unset => word.int(0),
            _ => self.values[&value],
        }
    }

    /// The variable's value at the entry of a steady loop.
    pub(super) fn at_loop_entry(&self, steady_loop: usize) -> Value<'m> {
        self.make(self.register.at_loop_entry(self.loops, steady_loop))
    }

    /// The variable's value at the end of a block.
    pub(super) fn bottom(&self, block: BlockIndex) -> Value<'m> {
        self.make(self.register.bottom[block].expect("asked of blocks that can be reached"))
    }

    /// Uses `value` instead of the equal constant at the end of a block.
    pub(super) fn replace_at_end(&mut self, block: BlockIndex, value: Value<'m>) {
        self.replaced.insert(block, value);
    }

    /// Makes the variable's value after a steady loop, at the top of the edge's target, if it is
    /// needed. `first` says whether control left the loop in its first iteration.
    pub(super) fn leave_loop(
        &mut self,
        builder: &Builder<'m>,
        edge: BlockEdge,
        steady_loop: usize,
        first: Value<'m>,
    ) {
        let left = RegisterValue::LoopExit(edge.to);
        if !self.register.needed.contains(&left) {
            return;
        }
        let word = Type::i64(self.parts.function.module());
        let later = self.bottom(edge.from);
        let start = word.int(self.loops[steady_loop].start);
        let distance = builder.subtract(later, start);
        let came = builder.add(self.at_loop_entry(steady_loop), distance);
        self.values.insert(left, builder.select(first, came, later));
    }

    /// Makes a block's additions and calls `count` for each count. Blocks come in reverse
    /// postorder.
    pub(super) fn step(
        &mut self,
        anchors: &Anchors,
        block: BlockIndex,
        count: impl FnMut(&Builder<'m>, CounterNumber<'m>, Destination),
    ) {
        self.step_by(None, anchors, block, count);
    }

    /// The same, but adds `unit`, if there is one, instead of each number. All these numbers are 1.
    pub(super) fn step_by(
        &mut self,
        unit: Option<Value<'m>>,
        anchors: &Anchors,
        block: BlockIndex,
        mut count: impl FnMut(&Builder<'m>, CounterNumber<'m>, Destination),
    ) {
        let top = self.register.top[block].expect("asked of blocks that can be reached");
        let mut sums = 0;
        walk(block, top, self.sites, |stop, action, value| {
            let builder = Builder::before(anchors.at(self.parts, block, stop.index));
            match action {
                Action::Set(_) => {}
                Action::Add(number) => {
                    sums += 1;
                    let sum = RegisterValue::Sum(block, sums);
                    if self.register.needed.contains(&sum) {
                        let number = Type::i64(self.parts.function.module()).int(number);
                        let before = builder.freeze(self.make(value));
                        let made = builder.add(before, unit.unwrap_or(number));
                        self.values.insert(sum, made);
                    }
                }
                Action::Count { base, increment } => {
                    let number = match (base, value) {
                        (CountBase::Zero, _) => CounterNumber::constant(increment),
                        (CountBase::Register, RegisterValue::Constant(number)) => {
                            CounterNumber::constant(increment.wrapping_add(number))
                        }
                        (CountBase::Register, _) => CounterNumber {
                            register: Some(self.make(value)),
                            increment,
                        },
                    };
                    count(&builder, number, stop.destination);
                }
            }
        });
    }

    /// Gives the phis their values. To be called when all values exist.
    pub(super) fn complete_phis(&self, position: &HashMap<Block<'m>, BlockIndex>) {
        let mut at: HashMap<BlockIndex, Vec<(RegisterValue, Instruction<'m>)>> = HashMap::new();
        for &(value, phi) in &self.phis {
            at.entry(position[&phi.block()])
                .or_default()
                .push((value, phi));
        }
        for (source, info) in BlockIndex::enumerate(&self.parts.blocks) {
            let bottom = self.register.bottom[source].unwrap_or(RegisterValue::Unset);
            // A phi has an entry for each edge, parallel ones too.
            for target in info.terminator().successors() {
                let here = position.get(&target).and_then(|target| at.get(target));
                for &(value, phi) in here.into_iter().flatten() {
                    let comes_in = match value {
                        RegisterValue::LoopEntry(index) => {
                            self.loops[index].entries.contains(&source)
                        }
                        _ => true,
                    };
                    let incoming = if comes_in {
                        let replaced = self.replaced.get(&source).copied();
                        replaced.unwrap_or_else(|| self.make(bottom))
                    } else {
                        phi.value()
                    };
                    phi.add_incoming(incoming, info.block);
                }
            }
        }
    }
}
