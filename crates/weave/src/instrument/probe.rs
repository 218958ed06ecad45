//! Emits the instructions of a probe that counts.
//!
//! A probe increments the counter at the address `block + base + offset + 8 × (increment +
//! register)`. If a signal handler interrupts the probe and counts the same path, no count may get
//! lost. So on x86-64 the probe is one `incq` instruction: the optimizing instruction selector
//! folds load, addition, and store into one instruction, and for the fast selector the probe is
//! inline assembly. The count that a loop has kept in a register is added by one `addq`. On AArch64
//! a probe is a loop of four instructions ([`super::aarch64`]).

use holloway_format::Counters;
use holloway_llvm::{Builder, Module, Type, Value};

use super::aarch64;
use super::globals::Globals;
use super::selector::InstructionSelector;
use super::variable::CounterNumber;
use crate::image::Machine;

/// The registers that arithmetic changes in addition to its result.
const FLAGS: &str = ",~{dirflag},~{fpsr},~{flags}";

/// The facts about a function that its counting probes need.
pub(super) struct Probe<'a, 'm> {
    pub(super) module: &'m Module<'m>,
    pub(super) globals: &'a Globals<'m>,
    /// The address from [`Globals::counters`].
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
                let address = self.counter_address(builder, offset, number);
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
                let increment = word.int(number.increment);
                let path = number
                    .register
                    .map_or(increment, |register| builder.add(register, increment));
                self.count_key(builder, offset, path);
            }
        }
    }

    /// Adds 1 to the count of a key in the hash table with its head at `offset`.
    pub(super) fn count_key(&self, builder: &Builder<'m>, offset: u64, key: Value<'m>) {
        let head = self.address(builder, offset.cast_signed());
        builder.call(self.globals.hash, Type::void(self.module), &[head, key]);
    }

    /// Adds `count` to a counter.
    ///
    /// # Panics
    /// If the counters are a hash table.
    pub(super) fn add(&self, builder: &Builder<'m>, number: CounterNumber<'m>, count: Value<'m>) {
        let (Counters::Array { offset, .. } | Counters::Edges { offset, .. }) = self.counters
        else {
            unreachable!("hash tables are never promoted")
        };
        let address = self.counter_address(builder, offset, number);
        self.add_to(builder, address, count);
    }

    /// Adds to a counter in memory. This is inline assembly, because the instruction selector would
    /// emit a load, an addition, and a store.
    fn add_to(&self, builder: &Builder<'m>, address: Value<'m>, count: Value<'m>) {
        match self.globals.machine {
            Machine::X86_64 => {
                builder.asm_on_memory("addq $1, $0", Some(("re", count)), FLAGS, address);
            }
            Machine::Aarch64 => aarch64::add(self.module, builder, address, count),
        }
    }

    /// The address of a counter.
    fn counter_address(
        &self,
        builder: &Builder<'m>,
        offset: u64,
        number: CounterNumber<'m>,
    ) -> Value<'m> {
        let displacement = number.increment.wrapping_mul(8);
        let displacement = offset.cast_signed().wrapping_add(displacement);
        let address = self.address(builder, displacement);
        match number.register {
            Some(register) => builder.offset(Type::i64(self.module), address, register),
            None => address,
        }
    }

    /// The address of the block of counters plus the module's base plus `displacement`.
    fn address(&self, builder: &Builder<'m>, displacement: i64) -> Value<'m> {
        let byte = Type::i8(self.module);
        let mut address = self.counter_block;
        if self.globals.machine.patches_bases() {
            address = builder.offset(byte, address, self.globals.addend(builder));
        }
        builder.offset(byte, address, Type::i64(self.module).int(displacement))
    }
}
