//! Reading the clock where a path begins and where it ends (Perelman, Chilimbi, Calder 2005,
//! section 4.2; `holloway_abi`, *Timed paths*).
//!
//! # Where a path begins
//! Behind a call of the runtime, which stopped the program's time:
//! ```text
//!     movq   BURST_STATE+8(ring), inner       # own time of all timed paths so far
//!     movq   BURST_STATE+16(ring), start      # the program's time
//!     lfence                                  # what came before is done
//!     rdtsc
//!     lfence                                  # the path's first instruction comes behind
//!     shlq   $32, %rdx
//!     orq    %rdx, %rax
//!     movq   inner, BURST_STATE+8(ring)       # as a handler may have changed these, whose time is taken out below
//!     movq   start, BURST_STATE+16(ring)
//!     subq   start, %rax
//!     movq   %rax, BURST_STATE(ring)          # time that probes have taken
//! ```
//! So one reading serves the call that ends and the path that begins. Where nothing was called (the
//! beginning of a function all of whose paths are timed) `start` is the clock less what probes have
//! taken, and nothing is written.
//! # Where it ends
//! ```text
//!     lfence                                  # what came before is done
//!     rdtsc                                   # what comes behind is the probe's own
//!     shlq   $32, %rdx
//!     orq    %rdx, %rax                       # end
//! ```
//! and a call of the runtime with the path's word, `start`, `inner` and `end`. What stands between
//! the two readings on a path of no instruction is the probe's bias: the same 8 instructions behind
//! each call of the runtime, which it measures (5 where nothing was called), and the two that put
//! `start` and `inner` into the frame, if they do ([`StartStorage`]), for which nothing waits.
//!
//! On AArch64 `isb` stands for `lfence`, and `mrs x, cntvct_el0` for `rdtsc` and the two
//! instructions that put its halves together. That counter goes at a rate of its own, some tens of
//! megahertz up to one gigahertz: a step of it may be a hundred of the processor's cycles.
//!
//! # Calls
//! The runtime's entries keep every register but `rax` and `r11` (AArch64: `x0`, `x16`, `x17`,
//! `x30`), at any alignment of the stack. They are called from inline assembly: to the code
//! generator a function that calls nothing else still calls nothing, and need not align its stack.
//! Functions with such calls have no red zone. To step over one would move the stack pointer where
//! no unwinder knows of it, and threads are cancelled, and stacks looked at by handlers of signals,
//! anywhere.

use std::cell::RefCell;

use holloway_abi::{BURST_STATE, BURST_SYMBOL, OPERAND, SAMPLE_SYMBOL};
use holloway_llvm::{AttributeKind, Block, Builder, Function, Instruction, Module, Type, Value};

use super::definitions::SplitVariable;
use super::globals::Globals;
use super::variable::CounterNumber;
use super::word::FirstWord;
use crate::image::Machine;

/// A machine's assembly.
struct Assembly {
    /// Reading the clock where a path begins.
    begin: &'static str,
    /// And where it ends.
    end: &'static str,
    /// What a reading is in, and changes.
    read: &'static str,
    /// Calling, without the name.
    call: &'static str,
    /// Where a sample's arguments are.
    sample: &'static str,
    /// Where a call's result is, and what it changes.
    result: &'static str,
    changes: &'static str,
}

const X86_64: Assembly = Assembly {
    begin: "lfence
    rdtsc
    lfence
    shlq $$32, %rdx
    orq %rdx, %rax",
    end: "lfence
    rdtsc
    shlq $$32, %rdx
    orq %rdx, %rax",
    read: "={ax},~{dx},~{dirflag},~{fpsr},~{flags}",
    call: "call",
    sample: ",{di},{si},{dx},{cx}",
    result: "={ax}",
    changes: ",~{r11},~{dirflag},~{fpsr},~{flags}",
};

const AARCH64: Assembly = Assembly {
    begin: "isb
    mrs $0, cntvct_el0
    isb",
    end: "isb
    mrs $0, cntvct_el0",
    read: "=r",
    call: "bl",
    sample: ",{x0},{x1},{x2},{x3}",
    result: "={x0}",
    changes: ",~{x16},~{x17},~{lr},~{cc}",
};
/// Offsets in a `BurstState`.
const PROBE: u64 = 0;
const INNER: u64 = 8;
const RESUME: u64 = 16;

/// What comes behind a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AfterPath {
    /// Another path.
    Begins,
    /// None at once: the function is left, or a path begins of which the check is still to come, or
    /// that is begun without the runtime's answer.
    None,
}

/// Where a path began.
#[derive(Clone, Copy)]
pub(super) struct TimedStart<'m> {
    pub(super) start: Value<'m>,
    pub(super) inner: Value<'m>,
}

/// Where it is kept when a path began.
pub(super) enum StartStorage<'m> {
    /// Two places of the frame. Registers that keep it across calls would have to be saved wherever
    /// the function is entered, also when nothing is timed. A second return of `setjmp` finds the
    /// places written anew.
    Frame { start: Value<'m>, inner: Value<'m> },
    /// Registers, where the function calls nothing: a frame would have to be made wherever it is
    /// entered, since such functions have no red zone. What is used where is for
    /// [`StartStorage::variables`].
    Registers(RefCell<[SplitVariable<'m>; 2]>),
}

impl<'m> StartStorage<'m> {
    /// Made in the function's entry.
    pub(super) fn frame(entry: Block<'m>) -> Self {
        let builder = Builder::at_top(entry);
        let long = Type::i64(entry.module());
        Self::Frame {
            start: builder.slot(long),
            inner: builder.slot(long),
        }
    }

    pub(super) fn registers() -> Self {
        Self::Registers(RefCell::default())
    }

    pub(super) fn store(&self, builder: &Builder<'m>, began: TimedStart<'m>) {
        match self {
            Self::Frame { start, inner } => {
                builder.store(began.inner, *inner);
                builder.store(began.start, *start);
            }
            Self::Registers(variables) => {
                let values = [began.start, began.inner];
                for (variable, value) in variables.borrow_mut().iter_mut().zip(values) {
                    let made = value.as_instruction().expect("two loads");
                    variable.made.push((made.block(), value));
                }
            }
        }
    }

    fn load(&self, builder: &Builder<'m>, long: Type<'m>) -> TimedStart<'m> {
        match self {
            Self::Frame { start, inner } => TimedStart {
                start: builder.load(long, *start),
                inner: builder.load(long, *inner),
            },
            Self::Registers(_) => TimedStart {
                start: long.poison(),
                inner: long.poison(),
            },
        }
    }

    /// Notes that a call has what was loaded among its arguments.
    fn note(&self, call: Instruction<'m>) {
        if let Self::Registers(variables) = self {
            for (argument, variable) in (1..).zip(variables.borrow_mut().iter_mut()) {
                variable.used.push((call, argument));
            }
        }
    }

    /// What is still to be given its values: where a path ends, what reaches the top of that block.
    /// No path begins in the block it ends in: it begins in a block before the part that it begins
    /// with (`bursts/check.rs`), or where nothing is in that part but a computed goto, in this; and
    /// where a part ends with the block's own goto, no path ends in it, for those that do end where
    /// another part follows, or the function is left.
    pub(super) fn variables(self) -> Vec<SplitVariable<'m>> {
        match self {
            Self::Frame { .. } => Vec::new(),
            Self::Registers(variables) => {
                let variables = variables.into_inner();
                let apart = variables.iter().all(|variable| {
                    let mut calls = variable.used.iter();
                    calls.all(|(call, _)| variable.made.iter().all(|(at, _)| *at != call.block()))
                });
                debug_assert!(apart, "a path ends in another block than it begins in");
                variables.into()
            }
        }
    }
}

/// How a function's paths are timed.
pub(super) struct Clock<'a, 'm> {
    module: &'m Module<'m>,
    globals: &'a Globals<'m>,
    assembly: Assembly,
    /// Word of path 0, less the module's base.
    first: FirstWord,
}

impl<'a, 'm> Clock<'a, 'm> {
    /// Takes the function's red zone from it.
    pub(super) fn new(function: Function<'m>, globals: &'a Globals<'m>, first: FirstWord) -> Self {
        let module = function.module();
        let no_red_zone = AttributeKind::named(module, "noredzone");
        function.add_attribute(no_red_zone.expect("every LLVM has it"));
        Self {
            module,
            globals,
            assembly: match globals.machine {
                Machine::X86_64 => X86_64,
                Machine::Aarch64 => AARCH64,
            },
            first,
        }
    }

    /// Begins a path where the runtime wasn't called; `ring` is the address of the thread's
    /// `RingHeader`.
    pub(super) fn begin(&self, builder: &Builder<'m>, ring: Value<'m>) -> TimedStart<'m> {
        let inner = self.load(builder, ring, INNER);
        let probe = self.load(builder, ring, PROBE);
        let now = self.read(builder, self.assembly.begin);
        TimedStart {
            start: builder.subtract(now, probe),
            inner,
        }
    }

    /// Begins a path behind a call of the runtime, which gave the ring.
    pub(super) fn go_on(&self, builder: &Builder<'m>, ring: Value<'m>) -> TimedStart<'m> {
        let inner = self.load(builder, ring, INNER);
        let start = self.load(builder, ring, RESUME);
        let now = self.read(builder, self.assembly.begin);
        self.store(builder, ring, INNER, inner);
        self.store(builder, ring, RESUME, start);
        self.store(builder, ring, PROBE, builder.subtract(now, start));
        TimedStart { start, inner }
    }

    /// A number of the thread's `BurstState`, as the runtime or a handler of a signal has left it.
    fn load(&self, builder: &Builder<'m>, ring: Value<'m>, offset: u64) -> Value<'m> {
        let address = self.state(builder, ring, offset);
        let value = builder.load(Type::i64(self.module), address);
        value.as_instruction().expect("a load").set_volatile();
        value
    }

    fn store(&self, builder: &Builder<'m>, ring: Value<'m>, offset: u64, value: Value<'m>) {
        let store = builder.store(value, self.state(builder, ring, offset));
        store.as_instruction().expect("a store").set_volatile();
    }

    fn state(&self, builder: &Builder<'m>, ring: Value<'m>, offset: u64) -> Value<'m> {
        let offset = Type::i64(self.module).int((BURST_STATE + offset).cast_signed());
        builder.offset(Type::i8(self.module), ring, offset)
    }

    /// Ends the path of number `increment`, plus `register`; the runtime's call, and what it gives
    /// back.
    pub(super) fn end(
        &self,
        builder: &Builder<'m>,
        path: CounterNumber<'m>,
        next: AfterPath,
        places: &StartStorage<'m>,
    ) -> Instruction<'m> {
        let end = self.read(builder, self.assembly.end);
        let began = places.load(builder, Type::i64(self.module));
        let word = self.word(builder, path, next);
        let arguments = [word, began.start, began.inner, end];
        let call = self.call(builder, SAMPLE_SYMBOL, self.assembly.sample, &arguments);
        places.note(call);
        call
    }

    /// Asks whether the path that begins is to be timed; the ring, or null.
    pub(super) fn ask(&self, builder: &Builder<'m>) -> Instruction<'m> {
        self.call(builder, BURST_SYMBOL, "", &[])
    }

    fn call(
        &self,
        builder: &Builder<'m>,
        name: &str,
        registers: &str,
        arguments: &[Value<'m>],
    ) -> Instruction<'m> {
        let Assembly {
            call,
            result,
            changes,
            ..
        } = self.assembly;
        let assembly = format!("{call} {name}");
        let constraints = format!("{result}{registers}{changes}");
        let pointer = Type::pointer(self.module);
        let call = builder.asm(&assembly, &constraints, pointer, arguments);
        call.as_instruction().expect("a call")
    }

    fn word(&self, builder: &Builder<'m>, path: CounterNumber<'m>, next: AfterPath) -> Value<'m> {
        let long = Type::i64(self.module);
        let number = long.int(self.first.of_path(path.increment));
        let word = builder.add(self.globals.base(builder), number);
        let word = self.globals.moved(builder, word);
        let word = path
            .register
            .map_or(word, |register| builder.add(register, word));
        match next {
            AfterPath::Begins => word,
            AfterPath::None => builder.add(word, long.int(OPERAND.into())),
        }
    }

    fn read(&self, builder: &Builder<'m>, assembly: &str) -> Value<'m> {
        let long = Type::i64(self.module);
        builder.asm(assembly, self.assembly.read, long, &[])
    }
}
