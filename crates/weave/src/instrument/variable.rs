//! A variable that probes set and add to, as LLVM values: the path register, or an accumulator of loops' counters.

use std::collections::HashMap;

use holloway_flow::{Action, CountBase};
use holloway_llvm::{Block, Builder, Instruction, Type, Value as LlvmValue};

use super::insert::Anchors;
use super::register::{Register, Turning, Value, walk};
use super::sites::Sites;
use crate::lower::Layout;

/// What a counter's number depends on.
#[derive(Clone, Copy)]
pub(super) enum Counted<'m> {
    /// Nothing: the variable is this there.
    Number(i64),
    /// The variable.
    Value(LlvmValue<'m>),
}

/// One variable while it is being written.
pub(super) struct Variable<'a, 'm> {
    layout: &'a Layout<'m>,
    sites: &'a Sites,
    register: &'a Register,
    turning: &'a [Turning],
    phis: Vec<(Value, Instruction<'m>)>,
    values: HashMap<Value, LlvmValue<'m>>,
    /// What stands for the constant at the end of a block.
    held: HashMap<usize, LlvmValue<'m>>,
}

impl<'a, 'm> Variable<'a, 'm> {
    /// Makes the phis, without their values yet: phis stand before everything else.
    pub(super) fn new(
        layout: &'a Layout<'m>,
        sites: &'a Sites,
        register: &'a Register,
        turning: &'a [Turning],
    ) -> Self {
        let mut variable = Self {
            layout,
            sites,
            register,
            turning,
            phis: Vec::new(),
            values: HashMap::new(),
            held: HashMap::new(),
        };
        for &value in &register.needed {
            let block = match value {
                Value::Phi(block) => block,
                Value::Came(index) => turning[index].head,
                _ => continue,
            };
            let word = Type::i64(layout.function.module());
            let phi = Builder::at_top(layout.blocks[block].block).phi(word);
            variable.values.insert(value, phi.value());
            variable.phis.push((value, phi));
        }
        variable
    }

    /// A value, made already.
    pub(super) fn make(&self, value: Value) -> LlvmValue<'m> {
        let word = Type::i64(self.layout.function.module());
        match value {
            Value::Constant(number) | Value::Turn(_, number) => word.int(number),
            Value::Unset => word.int(0),
            _ => self.values[&value],
        }
    }

    /// What came into a loop in which it isn't kept.
    pub(super) fn came(&self, turning: usize) -> LlvmValue<'m> {
        self.make(self.register.came(self.turning, turning))
    }

    /// What it is at the end of a block.
    pub(super) fn bottom(&self, block: usize) -> LlvmValue<'m> {
        self.make(self.register.bottom[block].expect("asked of blocks that can be reached"))
    }

    /// Lets `value`, which is the same, stand for the constant at the end of a block.
    pub(super) fn hold(&mut self, block: usize, value: LlvmValue<'m>) {
        self.held.insert(block, value);
    }

    /// Makes what is left of it behind the loop `turning`, at the top of `block`, if that is needed. `first` says whether the
    /// loop was left in its first turn.
    pub(super) fn leave(
        &mut self,
        builder: &Builder<'m>,
        (source, block): (usize, usize),
        turning: usize,
        first: LlvmValue<'m>,
    ) {
        let left = Value::Left(block);
        if !self.register.needed.contains(&left) {
            return;
        }
        let word = Type::i64(self.layout.function.module());
        let later = self.bottom(source);
        let start = word.int(self.turning[turning].start);
        let distance = builder.subtract(later, start);
        let came = builder.add(self.came(turning), distance);
        self.values.insert(left, builder.select(first, came, later));
    }

    /// Makes a block's additions; `count` is told what is counted where. Blocks come in reverse postorder.
    pub(super) fn step(
        &mut self,
        anchors: &Anchors,
        block: usize,
        count: impl FnMut(&Builder<'m>, Counted<'m>, i64),
    ) {
        self.step_by(None, anchors, block, count);
    }

    /// The same where `unit`, if there is one, is added in place of each number, all of which are 1.
    pub(super) fn step_by(
        &mut self,
        unit: Option<LlvmValue<'m>>,
        anchors: &Anchors,
        block: usize,
        mut count: impl FnMut(&Builder<'m>, Counted<'m>, i64),
    ) {
        let top = self.register.top[block].expect("asked of blocks that can be reached");
        let mut sums = 0;
        walk(block, top, self.sites, |index, action, value| {
            let builder = Builder::before(anchors.at(self.layout, block, index));
            match action {
                Action::Set(_) => {}
                Action::Add(number) => {
                    sums += 1;
                    let sum = Value::Sum(block, sums);
                    if self.register.needed.contains(&sum) {
                        let number = Type::i64(self.layout.function.module()).int(number);
                        let before = builder.freeze(self.make(value));
                        let made = builder.add(before, unit.unwrap_or(number));
                        self.values.insert(sum, made);
                    }
                }
                Action::Count {
                    base: CountBase::Zero,
                    increment,
                } => count(&builder, Counted::Number(0), increment),
                Action::Count {
                    base: CountBase::Register,
                    increment,
                } => match value {
                    Value::Constant(number) => count(&builder, Counted::Number(number), increment),
                    _ => count(&builder, Counted::Value(self.make(value)), increment),
                },
            }
        });
    }

    /// Gives the phis their values, when all are made.
    pub(super) fn close(&self, position: &HashMap<Block<'m>, usize>) {
        let mut at: HashMap<usize, Vec<(Value, Instruction<'m>)>> = HashMap::new();
        for &(value, phi) in &self.phis {
            at.entry(position[&phi.block()])
                .or_default()
                .push((value, phi));
        }
        for (source, info) in self.layout.blocks.iter().enumerate() {
            let bottom = self.register.bottom[source].unwrap_or(Value::Unset);
            // A phi has an entry for each edge, parallel ones too.
            for target in info.terminator().successors() {
                let here = position.get(&target).and_then(|target| at.get(target));
                for &(value, phi) in here.into_iter().flatten() {
                    let comes_in = match value {
                        Value::Came(index) => self.turning[index].entries.contains(&source),
                        _ => true,
                    };
                    let incoming = if comes_in {
                        let held = self.held.get(&source).copied();
                        held.unwrap_or_else(|| self.make(bottom))
                    } else {
                        phi.value()
                    };
                    phi.add_incoming(incoming, info.block);
                }
            }
        }
    }
}
