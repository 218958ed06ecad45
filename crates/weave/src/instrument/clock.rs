//! Reading the clock where a path begins and where it ends (Perelman, Chilimbi, Calder 2005,
//! section 4.2; `holloway_abi`, *Timed paths*).
//!
//! # Where a path begins
//! A path begins after a call of the runtime, which has stopped the program's time:
//! ```text
//!     movq   BURST_STATE+8(ring), inner       # own time of all timed paths so far
//!     movq   BURST_STATE+16(ring), start      # the program's time
//!     lfence                                  # earlier instructions are done
//!     rdtsc
//!     lfence                                  # the path's first instruction comes later
//!     shlq   $32, %rdx
//!     orq    %rdx, %rax
//!     movq   inner, BURST_STATE+8(ring)       # a handler may have changed both;
//!     movq   start, BURST_STATE+16(ring)      # its time is subtracted below
//!     subq   start, %rax
//!     movq   %rax, BURST_STATE(ring)          # time that probes have taken
//! ```
//! So one reading serves the call that ends a path and the path that begins. At the entry of a
//! function all of whose paths are timed, nothing was called. There `start` is the clock less the
//! time that probes have taken, and nothing is written.
//!
//! # Where it ends
//! ```text
//!     lfence                                  # earlier instructions are done
//!     rdtsc                                   # later instructions are the probe's own
//!     shlq   $32, %rdx
//!     orq    %rdx, %rax                       # end
//! ```
//! Then the probe calls the runtime with the path's word, `start`, `inner` and `end`.
//!
//! The probe's bias is the time between the two readings on a path without instructions: the 8
//! instructions after each call of the runtime (5 where nothing was called), which the runtime
//! measures, and the two that store `start` and `inner` into the frame ([`StartStorage`]), for
//! which nothing waits.
//!
//! On AArch64, `isb` replaces `lfence`, and `mrs x, cntvct_el0` replaces `rdtsc` and the two
//! instructions that join its halves. That counter runs at its own rate, between some tens of
//! megahertz and one gigahertz. One step of it may take a hundred of the processor's cycles.
//!
//! # Calls
//! The runtime's entries keep every register except `rax` and `r11` (AArch64: `x0`, `x16`, `x17`,
//! `x30`), at any alignment of the stack. Inline assembly calls them, so to the code generator a
//! function without calls stays one, and need not align its stack. Functions with such calls have
//! no red zone. Stepping over a red zone would move the stack pointer where no unwinder expects it,
//! and threads are canceled, and stacks inspected by signal handlers, anywhere.

use std::cell::RefCell;

use holloway_abi::{BURST_STATE, BURST_SYMBOL, OPERAND, SAMPLE_SYMBOL};
use holloway_llvm::{AttributeKind, Block, Builder, Function, Instruction, Module, Type, Value};

use super::definitions::SplitVariable;
use super::globals::Globals;
use super::variable::CounterNumber;
use super::word::FirstWord;
use crate::image::Machine;

/// The assembly of one machine.
struct Assembly {
    /// Reads the clock where a path begins.
    begin: &'static str,
    /// Reads the clock where a path ends.
    end: &'static str,
    /// The register of a reading, and the registers that it changes.
    read: &'static str,
    /// The call instruction, without the name.
    call: &'static str,
    /// The registers of a sample's arguments.
    sample: &'static str,
    /// The register of a call's result.
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

/// The code that follows a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AfterPath {
    /// Another timed path, at once.
    Begins,
    /// No timed path at once: control leaves the function, or the next path has its check still to
    /// come, or begins without the runtime's answer.
    None,
}

/// The start of a timed path.
#[derive(Clone, Copy)]
pub(super) struct TimedStart<'m> {
    pub(super) start: Value<'m>,
    pub(super) inner: Value<'m>,
}

/// Where the start of the running path is stored.
pub(super) enum StartStorage<'m> {
    /// Two slots of the frame. Registers that hold the start across calls would have to be saved at
    /// each entry of the function, even if nothing is timed. A second return of `setjmp` finds the
    /// slots written again.
    Frame { start: Value<'m>, inner: Value<'m> },
    /// Registers, for functions without calls. Such functions have no red zone, so slots would need
    /// a frame at each entry. [`StartStorage::variables`] lists definitions and uses.
    Registers(RefCell<[SplitVariable<'m>; 2]>),
}

impl<'m> StartStorage<'m> {
    /// Slots in the function's entry block.
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
                    variable.definitions.push((made.block(), value));
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

    /// Notes that a call has the loaded start among its arguments.
    fn note(&self, call: Instruction<'m>) {
        if let Self::Registers(variables) = self {
            for (argument, variable) in (1..).zip(variables.borrow_mut().iter_mut()) {
                variable.uses.push((call, argument));
            }
        }
    }

    /// The variables that still need values. Where a path ends, its start is the value at the top
    /// of that block. No path begins in the block in which it ends: it begins in a block before its
    /// first part (`bursts/crossings.rs`), or, if that part has only a computed goto, in this part.
    /// And if a part ends with the block's own goto, no path ends in it: paths end where another
    /// part follows, or where control leaves the function.
    pub(super) fn variables(self) -> Vec<SplitVariable<'m>> {
        match self {
            Self::Frame { .. } => Vec::new(),
            Self::Registers(variables) => {
                let variables = variables.into_inner();
                let apart = variables.iter().all(|variable| {
                    let mut calls = variable.uses.iter();
                    calls.all(|(call, _)| {
                        variable
                            .definitions
                            .iter()
                            .all(|(at, _)| *at != call.block())
                    })
                });
                debug_assert!(apart, "a path ends in another block than it begins in");
                variables.into()
            }
        }
    }
}

/// How the probes of a function time its paths.
pub(super) struct Clock<'a, 'm> {
    module: &'m Module<'m>,
    globals: &'a Globals<'m>,
    assembly: Assembly,
    /// Word of path 0, less the module's base.
    first: FirstWord,
}

impl<'a, 'm> Clock<'a, 'm> {
    /// Prepares a function for timing: it gets no red zone.
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

    /// Begins a path where the runtime wasn't called. `ring` is the address of the thread's
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

    /// Begins a path after a call of the runtime, which returned the ring.
    pub(super) fn go_on(&self, builder: &Builder<'m>, ring: Value<'m>) -> TimedStart<'m> {
        let inner = self.load(builder, ring, INNER);
        let start = self.load(builder, ring, RESUME);
        let now = self.read(builder, self.assembly.begin);
        self.store(builder, ring, INNER, inner);
        self.store(builder, ring, RESUME, start);
        self.store(builder, ring, PROBE, builder.subtract(now, start));
        TimedStart { start, inner }
    }

    /// Loads a number of the thread's `BurstState`, as the runtime or a signal handler has left it.
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

    /// Ends a path. Returns the call of the runtime.
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

    /// Asks the runtime whether to time the path that begins. The call returns the ring, or null.
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
