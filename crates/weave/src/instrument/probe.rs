//! The instructions that count.
//!
//! A probe loads the counter at `block + base + offset + 8 × (increment + register)`, increments it
//! and stores it. A signal handler that counts the same path must not lose a count. So on x86-64
//! the probe is one `incq` instruction: the optimizing instruction selector folds load, addition
//! and store into one, and for the fast selector the probe is inline assembly. One `addq` adds what
//! a loop has counted in a register. On AArch64 a probe is a loop of four instructions
//! ([`super::aarch64`]).

use holloway_format::Counters;
use holloway_llvm::{Builder, Module, Type, Value};

use super::aarch64;
use super::globals::Globals;
use super::selector::InstructionSelector;
use super::variable::CounterNumber;
use crate::image::Machine;

/// The registers that arithmetic changes in addition to its result.
const FLAGS: &str = ",~{dirflag},~{fpsr},~{flags}";

/// How the probes of a function count.
pub(super) struct Probe<'a, 'm> {
    pub(super) module: &'m Module<'m>,
    pub(super) globals: &'a Globals<'m>,
    /// [`Globals::counters`].
    pub(super) counter_block: Value<'m>,
    pub(super) counters: Counters,
    pub(super) selector: InstructionSelector,
}

impl<'m> Probe<'_, 'm> {
    /// Adds 1 to a counter.
    pub(super) fn count(&self, builder: &Builder<'m>, number: CounterNumber<'m>) {
        let word = Type::i64(self.module);
        match self.counters {
            Counters::Array { offset, .. } | Counters::Edges { offset, .. } => {
                let address = self.counter(builder, offset, number);
                match self.globals.machine {
                    Machine::X86_64 if self.selector == InstructionSelector::Fast => {
                        builder.asm_on_memory("incq $0", None, FLAGS, address);
                    }
                    Machine::X86_64 => {
                        let value = builder.load(word, address);
                        builder.store(builder.add(value, word.int(1)), address);
                    }
                    Machine::Aarch64 => aarch64::add(self.module, builder, address, word.int(1)),
                }
            }
            Counters::Hash { offset } => {
                let head = self.address(builder, offset.cast_signed());
                let increment = word.int(number.increment);
                let path = number
                    .register
                    .map_or(increment, |register| builder.add(register, increment));
                builder.call(self.globals.hash, Type::void(self.module), &[head, path]);
            }
        }
    }

    /// Adds `count` to a counter.
    ///
    /// # Panics
    /// Where the counters are a hash table.
    pub(super) fn add(&self, builder: &Builder<'m>, number: CounterNumber<'m>, count: Value<'m>) {
        let (Counters::Array { offset, .. } | Counters::Edges { offset, .. }) = self.counters
        else {
            unreachable!("hash tables are never promoted")
        };
        let address = self.counter(builder, offset, number);
        self.add_to(builder, address, count);
    }

    /// Adds to a counter in memory, by inline assembly, since the instruction selector would split
    /// the addition into a load, an addition and a store.
    fn add_to(&self, builder: &Builder<'m>, address: Value<'m>, count: Value<'m>) {
        match self.globals.machine {
            Machine::X86_64 => {
                builder.asm_on_memory("addq $1, $0", Some(("re", count)), FLAGS, address);
            }
            Machine::Aarch64 => aarch64::add(self.module, builder, address, count),
        }
    }

    /// A counter's address.
    fn counter(&self, builder: &Builder<'m>, offset: u64, number: CounterNumber<'m>) -> Value<'m> {
        let displacement = number.increment.wrapping_mul(8);
        let displacement = offset.cast_signed().wrapping_add(displacement);
        let address = self.address(builder, displacement);
        match number.register {
            Some(register) => builder.offset(Type::i64(self.module), address, register),
            None => address,
        }
    }

    /// The counter block's address, displaced by the module's base and `displacement`.
    fn address(&self, builder: &Builder<'m>, displacement: i64) -> Value<'m> {
        let byte = Type::i8(self.module);
        let mut address = self.counter_block;
        if self.globals.machine.patches_bases() {
            address = builder.offset(byte, address, self.globals.addend(builder));
        }
        builder.offset(byte, address, Type::i64(self.module).int(displacement))
    }
}
