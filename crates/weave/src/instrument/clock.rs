//! Emits the probes that read the clock where a path begins and where it ends (Perelman, Chilimbi,
//! Calder 2005, section 4.2; `holloway_abi`, *Timed paths*).
//!
//! # Where a path begins
//! Usually a path begins after a call of the runtime. The runtime has stored the program time at
//! which the path begins:
//! ```text
//!     movq   BURST_STATE+8(ring), inner       # exclusive time of all timed paths so far
//!     movq   BURST_STATE+16(ring), start      # the program time
//!     lfence                                  # earlier instructions are done
//!     rdtsc
//!     lfence                                  # the path's first instruction comes later
//!     shlq   $32, %rdx
//!     orq    %rdx, %rax
//!     movq   inner, BURST_STATE+8(ring)       # a signal handler may have changed both;
//!     movq   start, BURST_STATE+16(ring)      # its time is subtracted below
//!     subq   start, %rax
//!     movq   %rax, BURST_STATE(ring)          # the time that probes have taken
//! ```
//! So one reading of the clock ends the time of the runtime's call and begins the path. If every
//! path is timed, the first path of a function begins without a call. Then `start` is the clock
//! minus the time that probes have taken, and nothing is stored.
//!
//! # Where a path ends
//! ```text
//!     lfence                                  # earlier instructions are done
//!     rdtsc                                   # later instructions belong to the probe
//!     shlq   $32, %rdx
//!     orq    %rdx, %rax                       # end
//! ```
//! Then the probe calls the runtime with the path's word, `start`, `inner`, and `end`.
//!
//! The bias is the time between the two readings of a path without instructions. The runtime
//! measures the part that comes from the 8 instructions after its call (5 where nothing was
//! called). Two more instructions store `start` and `inner` into the frame ([`StartStorage`]), but
//! no instruction waits for these stores.
//!
//! On AArch64, `isb` replaces `lfence`, and `mrs x, cntvct_el0` replaces `rdtsc` and the two
//! instructions that join its halves. This clock has a fixed frequency between a few tens of
//! megahertz and one gigahertz. One of its steps may take a hundred of the processor's cycles.
//!
//! # Calls
//! The runtime's functions keep every register except `rax` and `r11` (AArch64: `x0`, `x16`, `x17`,
//! `x30`), and accept any alignment of the stack. Probes call them by inline assembly. So the code
//! generator still treats a function without other calls as a leaf, which need not align its stack.
//! Functions with such probes get no red zone. To call across a red zone, a probe would have to
//! move the stack pointer where no unwinder expects it. But a thread may be canceled, and a signal
//! handler may inspect its stack, at any instruction.

use std::cell::RefCell;

use holloway_abi::{BURST_STATE, BURST_SYMBOL, OPERAND, SAMPLE_SYMBOL};
use holloway_llvm::{AttributeKind, Block, Builder, Function, Instruction, Module, Type, Value};

use super::definitions::SplitVariable;
use super::globals::Globals;
use super::variable::CounterNumber;
use super::word::FirstWord;
use crate::image::Machine;

/// The pieces of inline assembly for one machine, and their constraints.
struct Assembly {
    /// The instructions that read the clock where a path begins.
    begin: &'static str,
    /// The instructions that read the clock where a path ends.
    end: &'static str,
    /// The constraints of a reading: the result register, and the registers that it changes.
    read_constraints: &'static str,
    /// The call instruction, without the callee.
    call: &'static str,
    /// The argument registers of the call that ends a path.
    sample_arguments: &'static str,
    /// The result register of a call.
    call_result: &'static str,
    /// The other registers that a call changes.
    call_clobbers: &'static str,
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
    read_constraints: "={ax},~{dx},~{dirflag},~{fpsr},~{flags}",
    call: "call",
    sample_arguments: ",{di},{si},{dx},{cx}",
    call_result: "={ax}",
    call_clobbers: ",~{r11},~{dirflag},~{fpsr},~{flags}",
};

const AARCH64: Assembly = Assembly {
    begin: "isb
    mrs $0, cntvct_el0
    isb",
    end: "isb
    mrs $0, cntvct_el0",
    read_constraints: "=r",
    call: "bl",
    sample_arguments: ",{x0},{x1},{x2},{x3}",
    call_result: "={x0}",
    call_clobbers: ",~{x16},~{x17},~{lr},~{cc}",
};

/// The offset in a `BurstState` of the time that probes have taken.
const PROBE_TIME: u64 = 0;
/// The offset in a `BurstState` of the exclusive time of all timed paths.
const INNER_TIME: u64 = 8;
/// The offset in a `BurstState` of the program time at which the next path begins.
const RESUME_TIME: u64 = 16;

/// What follows the end of a timed path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AfterPath {
    /// Another timed path may begin immediately, depending on the runtime's answer.
    Begins,
    /// No timed path begins by the runtime's answer: control leaves the function, or the next path
    /// begins with a check, or it begins elsewhere without a call of the runtime.
    None,
}

/// The start of a timed path: the program time, and the exclusive time of all timed paths so far.
#[derive(Clone, Copy)]
pub(super) struct TimedStart<'m> {
    pub(super) start: Value<'m>,
    pub(super) inner: Value<'m>,
}

/// Where the start of the running path is stored.
pub(super) enum StartStorage<'m> {
    /// The start is in two slots of the frame, for functions with calls. Registers that keep a
    /// value across calls would have to be saved at each entry of the function, even if nothing is
    /// timed.
    Frame { start: Value<'m>, inner: Value<'m> },
    /// The start is in registers, for functions without calls. Such functions have no red zone, so
    /// slots would make each entry set up a frame. [`StartStorage::variables`] lists the
    /// definitions and uses.
    Registers(RefCell<[SplitVariable<'m>; 2]>),
}

impl<'m> StartStorage<'m> {
    /// Storage in the frame. The slots are made in the function's entry block.
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

    pub(super) fn store(&self, builder: &Builder<'m>, timed_start: TimedStart<'m>) {
        match self {
            Self::Frame { start, inner } => {
                builder.store(timed_start.inner, *inner);
                builder.store(timed_start.start, *start);
            }
            Self::Registers(variables) => {
                let values = [timed_start.start, timed_start.inner];
                for (variable, value) in variables.borrow_mut().iter_mut().zip(values) {
                    let load = value.as_instruction().expect("two loads");
                    variable.definitions.push((load.block(), value));
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

    /// Records that a call uses the start of the path that it ends.
    fn add_uses(&self, call: Instruction<'m>) {
        if let Self::Registers(variables) = self {
            for (argument, variable) in (1..).zip(variables.borrow_mut().iter_mut()) {
                variable.uses.push((call, argument));
            }
        }
    }

    /// The variables whose uses still need values. Each use needs the value at the top of its
    /// block, because no path begins and ends in the same block:
    /// - A path begins in a separate block before its first piece (`bursts/crossings.rs`). There is
    ///   one exception: if the piece is only a computed goto, the path begins in this piece.
    /// - In such a piece no path ends. Paths end where another piece of the block follows, or where
    ///   control leaves the function.
    pub(super) fn variables(self) -> Vec<SplitVariable<'m>> {
        match self {
            Self::Frame { .. } => Vec::new(),
            Self::Registers(variables) => {
                let variables = variables.into_inner();
                let are_separate = variables.iter().all(|variable| {
                    let mut calls = variable.uses.iter();
                    calls.all(|(call, _)| {
                        variable
                            .definitions
                            .iter()
                            .all(|(block, _)| *block != call.block())
                    })
                });
                debug_assert!(
                    are_separate,
                    "a path ends in another block than it begins in"
                );
                variables.into()
            }
        }
    }
}

/// Emits the timing probes of a function.
pub(super) struct Clock<'a, 'm> {
    module: &'m Module<'m>,
    globals: &'a Globals<'m>,
    assembly: Assembly,
    /// The word of path 0, minus the module's base.
    first: FirstWord,
}

impl<'a, 'm> Clock<'a, 'm> {
    /// Prepares a function for timing, by disabling its red zone.
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

    /// Begins a path without a call of the runtime. `ring` is the address of the thread's
    /// `RingHeader`.
    pub(super) fn begin(&self, builder: &Builder<'m>, ring: Value<'m>) -> TimedStart<'m> {
        let inner = self.load(builder, ring, INNER_TIME);
        let probe = self.load(builder, ring, PROBE_TIME);
        let now = self.read(builder, self.assembly.begin);
        TimedStart {
            start: builder.subtract(now, probe),
            inner,
        }
    }

    /// Begins a path after a call of the runtime, which has returned the ring.
    pub(super) fn begin_after_call(
        &self,
        builder: &Builder<'m>,
        ring: Value<'m>,
    ) -> TimedStart<'m> {
        let inner = self.load(builder, ring, INNER_TIME);
        let start = self.load(builder, ring, RESUME_TIME);
        let now = self.read(builder, self.assembly.begin);
        self.store(builder, ring, INNER_TIME, inner);
        self.store(builder, ring, RESUME_TIME, start);
        self.store(builder, ring, PROBE_TIME, builder.subtract(now, start));
        TimedStart { start, inner }
    }

    /// Loads a field of the thread's `BurstState`. The load is volatile, because the runtime and
    /// signal handlers change the field.
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

    /// The address of a field of the thread's `BurstState`.
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
        storage: &StartStorage<'m>,
    ) -> Instruction<'m> {
        let end = self.read(builder, self.assembly.end);
        let timed_start = storage.load(builder, Type::i64(self.module));
        let word = self.word(builder, path, next);
        let arguments = [word, timed_start.start, timed_start.inner, end];
        let call = self.call(
            builder,
            SAMPLE_SYMBOL,
            self.assembly.sample_arguments,
            &arguments,
        );
        storage.add_uses(call);
        call
    }

    /// Calls the runtime, which decides whether to time the path that begins. The call returns the
    /// ring if so, else null.
    pub(super) fn ask_runtime(&self, builder: &Builder<'m>) -> Instruction<'m> {
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
            call_result,
            call_clobbers,
            ..
        } = self.assembly;
        let assembly = format!("{call} {name}");
        let constraints = format!("{call_result}{registers}{call_clobbers}");
        let pointer = Type::pointer(self.module);
        let call = builder.asm(&assembly, &constraints, pointer, arguments);
        call.as_instruction().expect("a call")
    }

    /// The word of a path, which also tells the runtime what follows the path.
    fn word(&self, builder: &Builder<'m>, path: CounterNumber<'m>, next: AfterPath) -> Value<'m> {
        let long = Type::i64(self.module);
        let number = long.int(self.first.of_path(path.increment));
        let word = builder.add(self.globals.base(builder), number);
        let word = self.globals.move_to_register(builder, word);
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
        builder.asm(assembly, self.assembly.read_constraints, long, &[])
    }
}
