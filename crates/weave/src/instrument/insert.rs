//! Writing the probes into a function.
//!
//! # Entry
//! A new entry block takes over the frame's slots (static allocas), loads the thread's slot and tests it; on the cold side a
//! block calls the runtime. The old entry block begins with the phi of both: the thread's counter block.
//!
//! # Counters
//! `block + base + offset + 8 × (increment + register)` is loaded, incremented, stored. On x86-64 it becomes one `incq`
//! instruction (a signal handler that counts the same path can't lose one): the selector folds load, add and store, except
//! where it is in a hurry (`-O0`); there the instruction is inline assembly. The displacement never goes below
//! 0, since it may be made with a zero-extended relocation: where an increment is negative, all settings of the register are
//! lowered instead, and increments raised by as much.

use std::collections::HashMap;

use holloway_flow::Action;
use holloway_format::Counters;
use holloway_llvm::{Block, Builder, Instruction, Metadata, Module, Type};

use super::globals::Globals;
use super::register::{Register, Value, reverse_postorder, walk};
use super::sites::Sites;
use crate::lower::Layout;

/// Inserts all of a function's probes.
pub(super) fn insert<'m>(
    layout: &Layout<'m>,
    sites: &Sites,
    counters: Counters,
    globals: &Globals<'m>,
    single: bool,
) {
    let sites = if matches!(counters, Counters::Array { .. }) {
        raised(sites)
    } else {
        sites.clone()
    };
    let position: HashMap<Block<'m>, usize> = layout
        .blocks
        .iter()
        .enumerate()
        .map(|(index, info)| (info.block, index))
        .collect();
    let successors = successors(layout, &position);
    let register = Register::new(&successors, &sites);
    let anchors = Anchors::new(layout);
    // Phis first: they stand before everything else.
    let mut values: HashMap<Value, holloway_llvm::Value<'m>> = HashMap::new();
    let module = layout.function.module();
    let mut phis = Vec::new();
    for &value in &register.needed {
        if let Value::Phi(block) = value {
            let phi = Builder::at_top(layout.blocks[block].block).phi(Type::i64(module));
            values.insert(value, phi.value());
            phis.push((block, phi));
        }
    }
    let counter_block = enter(layout, globals, &anchors);
    let probe = Probe {
        module,
        globals,
        counter_block,
        counters,
        single,
    };
    for block in reverse_postorder(&successors) {
        let top = register.top[block].expect("reached in this order, so something reaches it");
        let mut sums = 0;
        walk(block, top, &sites, |index, action, value| {
            let builder = Builder::before(anchors.at(layout, block, index));
            match action {
                Action::Set(_) => {}
                Action::Add(number) => {
                    sums += 1;
                    let sum = Value::Sum(block, sums);
                    if register.needed.contains(&sum) {
                        let before = materialise(module, &values, value);
                        values.insert(sum, builder.add(before, Type::i64(module).int(number)));
                    }
                }
                Action::Count {
                    register: false,
                    increment,
                } => probe.count(&builder, None, increment),
                Action::Count {
                    register: true,
                    increment,
                } => match value {
                    Value::Constant(number) => {
                        probe.count(&builder, None, increment.wrapping_add(number));
                    }
                    _ => probe.count(
                        &builder,
                        Some(materialise(module, &values, value)),
                        increment,
                    ),
                },
            }
        });
    }
    let phis: HashMap<usize, Instruction<'m>> = phis.into_iter().collect();
    for (source, info) in layout.blocks.iter().enumerate() {
        let value = register.bottom[source].unwrap_or(Value::Unset);
        // A phi has an entry for each edge, parallel ones too.
        for target in info.terminator().successors() {
            if let Some(phi) = phis.get(&position[&target]) {
                phi.add_incoming(materialise(module, &values, value), info.block);
            }
        }
    }
}

/// LLVM's successors of each block, by position, each once. Also behind calls that don't return: phis need them.
fn successors<'m>(layout: &Layout<'m>, position: &HashMap<Block<'m>, usize>) -> Vec<Vec<usize>> {
    layout
        .blocks
        .iter()
        .map(|info| {
            let mut targets: Vec<usize> = info
                .terminator()
                .successors()
                .iter()
                .map(|block| position[block])
                .collect();
            targets.sort_unstable();
            targets.dedup();
            targets
        })
        .collect()
}

/// The same counts with no increment below 0 where the register is added.
fn raised(sites: &Sites) -> Sites {
    let actions = || sites.iter().flatten().flat_map(|stop| &stop.actions);
    let lowest = actions()
        .filter_map(|action| match action {
            Action::Count {
                register: true,
                increment,
            } => Some(*increment),
            _ => None,
        })
        .min()
        .unwrap_or(0);
    let by = lowest.min(0).wrapping_neg();
    let mut sites = sites.clone();
    for action in sites
        .iter_mut()
        .flatten()
        .flat_map(|stop| &mut stop.actions)
    {
        match action {
            Action::Set(number) => *number = number.wrapping_sub(by),
            Action::Count {
                register: true,
                increment,
            } => *increment = increment.wrapping_add(by),
            _ => {}
        }
    }
    sites
}

fn materialise<'m>(
    module: &'m Module<'m>,
    values: &HashMap<Value, holloway_llvm::Value<'m>>,
    value: Value,
) -> holloway_llvm::Value<'m> {
    match value {
        Value::Constant(number) => Type::i64(module).int(number),
        Value::Unset => Type::i64(module).int(0),
        Value::Phi(_) | Value::Sum(..) => values[&value],
    }
}

/// Instructions to insert before: the ones that stay where they are.
struct Anchors {
    /// Which instructions of the entry block move to the new one.
    moved: Vec<bool>,
}

impl Anchors {
    fn new(layout: &Layout<'_>) -> Self {
        Self {
            moved: layout.blocks[0]
                .instructions
                .iter()
                .map(|instruction| instruction.is_static_alloca())
                .collect(),
        }
    }

    fn at<'m>(&self, layout: &Layout<'m>, block: usize, index: usize) -> Instruction<'m> {
        let index = if block == 0 {
            (index..self.moved.len())
                .find(|&index| !self.moved[index])
                .expect("a terminator stays")
        } else {
            index
        };
        layout.blocks[block].instructions[index]
    }
}

/// Puts the test of the thread's slot before everything; returns the address that counters are displaced from.
fn enter<'m>(
    layout: &Layout<'m>,
    globals: &Globals<'m>,
    anchors: &Anchors,
) -> holloway_llvm::Value<'m> {
    let module = layout.function.module();
    let pointer = Type::pointer(module);
    let old = &layout.blocks[0];
    let new = old.block.insert_before("holloway.entry");
    let slow = layout.function.append_block("holloway.enter");
    let first = anchors.at(layout, 0, 0);

    let builder = Builder::at_end(new);
    for (instruction, moved) in old.instructions.iter().zip(&anchors.moved) {
        if *moved {
            builder.take(*instruction);
        }
    }
    let slot = builder.load(pointer, globals.slot.value());
    let branch = builder.branch_if(builder.is_null(slot), slow, old.block);
    branch.set_metadata(module.metadata_kind("prof"), rarely(module));

    let builder = Builder::at_end(slow);
    let entered = builder.call(globals.enter, pointer, &[]);
    builder.branch(old.block);

    let block = Builder::at_top(old.block).phi(pointer);
    block.add_incoming(slot, new);
    block.add_incoming(entered, slow);
    if globals.base_in_code {
        return block.value();
    }
    let builder = Builder::before(first);
    let base = builder.load(Type::i64(module), globals.base.value());
    builder.offset(Type::i8(module), block.value(), base)
}

/// Branch weights that say: not this way, but for the first time.
fn rarely<'m>(module: &'m Module<'m>) -> Metadata<'m> {
    let weights = [1, 1 << 20].map(|weight| Metadata::constant(Type::i32(module).int(weight)));
    Metadata::node(
        module,
        &[
            Metadata::string(module, "branch_weights"),
            weights[0],
            weights[1],
        ],
    )
}

/// How a path is counted.
struct Probe<'a, 'm> {
    module: &'m Module<'m>,
    globals: &'a Globals<'m>,
    counter_block: holloway_llvm::Value<'m>,
    counters: Counters,
    single: bool,
}

impl<'m> Probe<'_, 'm> {
    fn count(
        &self,
        builder: &Builder<'m>,
        register: Option<holloway_llvm::Value<'m>>,
        increment: i64,
    ) {
        let word = Type::i64(self.module);
        match self.counters {
            Counters::Array { offset, .. } => {
                let displacement = offset.cast_signed().wrapping_add(increment.wrapping_mul(8));
                let mut address = self.address(builder, displacement);
                if let Some(register) = register {
                    address = builder.offset(word, address, register);
                }
                if self.single && self.globals.base_in_code {
                    builder.asm_on_memory("incq $0", ",~{dirflag},~{fpsr},~{flags}", address);
                } else {
                    let value = builder.load(word, address);
                    builder.store(builder.add(value, word.int(1)), address);
                }
            }
            Counters::Hash { offset } => {
                let head = self.address(builder, offset.cast_signed());
                let increment = word.int(increment);
                let path = register.map_or(increment, |register| builder.add(register, increment));
                builder.call(self.globals.hash, Type::void(self.module), &[head, path]);
            }
        }
    }

    /// The counter block's address, displaced by the module's base and `displacement`.
    fn address(&self, builder: &Builder<'m>, displacement: i64) -> holloway_llvm::Value<'m> {
        let byte = Type::i8(self.module);
        let mut address = self.counter_block;
        if self.globals.base_in_code {
            address = builder.offset(byte, address, self.globals.base.value().pointer_to_i64());
        }
        builder.offset(byte, address, Type::i64(self.module).int(displacement))
    }
}
