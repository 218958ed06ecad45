//! Inserts probes that append a word to the thread's stream at the end of each path
//! (`holloway_abi`, *Streams*).
//!
//! # Appending a word
//! A probe is one piece of inline assembly. The probe of x86-64 follows; [`super::aarch64`] has the
//! other. The first instruction reads the cursor, and the second reserves a cell of the ring. A
//! comparison then detects whether a signal handler reserved a cell between the two:
//! ```text
//!     movq  (ring), %rax          # any register: the cursor
//!     addq  $4, (ring)            # reserves a cell
//!     addq  $4, %rax
//!     cmpq  %rax, (ring)          # did a signal handler append in between?
//!     jne   1f
//!     subl  $4, %eax
//!     andl  $RING_SIZE-1, %eax
//! 2:  movl  $word, RING_WORDS(ring,%rax)
//!     testw %ax, %ax              # the first cell of a chunk?
//!     je    4f
//! 5:
//! ```
//! The rare cases follow after the function's other code:
//! ```text
//! 1:  leaq  -128(%rsp), %rsp      # past the red zone
//!     subl  $4, %eax
//!     andl  $RING_SIZE-1, %eax
//!     pushq %rax                  # the lowest cell that may be this probe's
//!     movl  (ring), %eax
//! 3:  subl  $4, %eax              # searches down from the last reserved cell
//!     andl  $RING_SIZE-1, %eax
//!     cmpl  $0, RING_WORDS(ring,%rax)
//!     je    6f                    # the first cell that is 0 is this probe's
//!     cmpl  (%rsp), %eax
//!     jne   3b
//! 6:  leaq  136(%rsp), %rsp
//!     jmp   2b
//! 4:  leaq  -128(%rsp), %rsp
//!     call  __holloway_chunk      # keeps every register; the stack is aligned to 8 only
//!     leaq  128(%rsp), %rsp
//!     jmp   5b
//! ```
//! The search is correct because signal handlers have finished by then: all cells above this
//! probe's cell are written. The collector does not take these words before this cell is written
//! too.
//!
//! Cost on bzip2 with rings that nobody reads (130 million words, EPYC): +13 %. With `xaddq`, which
//! reserves the cell and reads the cursor in one instruction: +27 %. Without protection from
//! signals: +5 %.
//!
//! A path's word is a constant, or the path register plus a constant ([`FirstWord`]). The link step
//! writes the module's base into the word, in units of counters.
//!
//! # Paths that are counted instead
//! Some paths are counted next to the ring ([`super::ring_counters`]). If this depends on the path
//! register, the probe compares the register first:
//! ```text
//!     cmpq  $above, %rcx          # rcx: the path register
//!     jl    8f                    # 8: incq counter(ring,%rcx,8); jmp 5b
//! ```
//!
//! # Frames that are left
//! A function to which an exception or `longjmp` may come back keeps the value that the cursor had
//! at the function's entry. At each position where control may come back
//! ([`FunctionParts::catch_points`]), it passes this cursor to the runtime: the frames that began
//! after this cursor are gone.
//!
//! Unlike counters, words are never kept in registers over a loop, because their order matters.

use holloway_abi::{CHUNK, CHUNK_SYMBOL, RING_SIZE, RING_WORDS};
use holloway_flow::PathId;
use holloway_format::Counters;
use holloway_llvm::{Builder, Module, Type, Value};

use super::aarch64::{self, RingCount};
use super::anchors::Anchors;
use super::entry::enter;
use super::globals::{Globals, caught};
use super::graph::{BlockGraph, positions, reverse_postorder};
use super::probe::Probe;
use super::register::RegisterFlow;
use super::ring_counters::RingCountedPaths;
use super::selector::InstructionSelector;
use super::sites::{Destination, Sites, with_nonnegative_increments};
use super::variable::{CounterNumber, ProbeVariable};
use super::word::FirstWord;
use crate::image::Machine;
use crate::lower::{BlockIndex, FunctionParts};

const _: () = assert!(CHUNK == 1 << 16, "the low 16 bits of a chunk's start are 0");

/// The counters next to the ring of a function that also appends words.
pub(super) struct RingCounting<'a, 'm> {
    pub(super) paths: RingCountedPaths<'a, 'm>,
    /// The module's symbols, with the base of its counters next to the ring.
    pub(super) globals: &'a Globals<'m>,
    /// The offset of path 0's counter from the ring's address plus that base, in bytes.
    pub(super) offset: u64,
}

/// Inserts the probes of a function whose paths are appended to a stream. With `counting`, some
/// paths are counted next to the ring instead.
pub(super) fn insert<'m>(
    parts: &FunctionParts<'m>,
    sites: &Sites,
    first: FirstWord,
    globals: &Globals<'m>,
    selector: InstructionSelector,
    counting: Option<&RingCounting<'_, 'm>>,
) {
    let positions = positions(parts);
    let graph = BlockGraph::of_parts(parts, &positions);
    // The code generator may emit a word's constant with a zero-extended relocation, so the
    // constant must not be negative.
    let sites = with_nonnegative_increments(sites);
    let register = RegisterFlow::new(&graph, &sites, &[]);
    let anchors = Anchors::new(parts);
    let mut variable = ProbeVariable::new(parts, &sites, &register, &[]);
    let append = Append {
        module: parts.function.module(),
        globals,
        ring: enter(parts, globals, &anchors),
        first,
        selector,
        counting,
    };
    append.mark_catchers(parts, &anchors);
    for block in reverse_postorder(&graph.successors) {
        variable.step(&anchors, block, |builder, path, destination| {
            append.path(builder, path, destination);
        });
    }
    variable.complete_phis(&positions);
}

/// The facts about a function that its appending probes need.
struct Append<'a, 'm> {
    module: &'m Module<'m>,
    globals: &'a Globals<'m>,
    /// The address of the thread's `RingHeader`.
    ring: Value<'m>,
    first: FirstWord,
    selector: InstructionSelector,
    counting: Option<&'a RingCounting<'a, 'm>>,
}

impl<'m> Append<'_, 'm> {
    /// Appends a path's word, or counts the path next to the ring.
    fn path(&self, builder: &Builder<'m>, path: CounterNumber<'m>, destination: Destination) {
        let Some(counting) = self.counting else {
            return self.append(builder, path, None);
        };
        let is_whole_activation = || {
            let number = PathId(path.increment.cast_unsigned());
            path.register.is_none() && counting.paths.is_whole_activation(number)
        };
        match destination {
            Destination::RingCounter => self.count(builder, path, counting),
            Destination::Usual | Destination::RingCounterFromEntry if is_whole_activation() => {
                self.count(builder, path, counting);
            }
            Destination::RingCounterFromEntry => self.append(builder, path, Some(counting)),
            Destination::Usual => self.append(builder, path, None),
        }
    }

    /// Counts a path next to the ring.
    fn count(
        &self,
        builder: &Builder<'m>,
        path: CounterNumber<'m>,
        counting: &RingCounting<'_, 'm>,
    ) {
        let probe = Probe {
            module: self.module,
            globals: counting.globals,
            counter_block: counting.globals.counter_base_address(builder, self.ring),
            counters: Counters::Array {
                offset: counting.offset,
                len: counting.paths.counter_count(),
            },
            selector: self.selector,
        };
        probe.count(builder, path);
    }

    /// Appends a path's word. With `counting`, the probe first tests whether the path's number is
    /// low, which means that the path starts at the function's entry. Such a path is counted at the
    /// label `8:` instead.
    fn append(
        &self,
        builder: &Builder<'m>,
        path: CounterNumber<'m>,
        counting: Option<&RingCounting<'_, 'm>>,
    ) {
        let counting = counting.zip(path.register);
        match self.globals.machine {
            Machine::X86_64 => self.append_on_x86_64(builder, path, counting),
            Machine::Aarch64 => self.append_on_aarch64(builder, path, counting),
        }
    }

    fn append_on_x86_64(
        &self,
        builder: &Builder<'m>,
        path: CounterNumber<'m>,
        counting: Option<(&RingCounting<'_, 'm>, Value<'m>)>,
    ) {
        let word = self.word(builder, path.increment);
        // The base is a number, but has the form of a symbol. The fast instruction selector would
        // compute an address from the symbol (`lea base(%rip)`). In a few functions, the other
        // instruction selectors have done so (`base_is_moved`).
        let must_move = self.selector == InstructionSelector::Fast || self.globals.base_is_moved;
        let (word, word_constraint) = match path.register {
            Some(register) if must_move => (
                builder.add(register, self.globals.move_to_register(builder, word)),
                "r",
            ),
            Some(register) => (builder.add(register, word), "r"),
            None => (word, "ri"),
        };
        let (test, count) = counting.map_or_else(Default::default, |(counting, _)| {
            let above = first_appended(counting, path.increment);
            (
                format!("cmpq $${above}, $3\njl 8f\n"),
                "8: incq ${4:c}($1,$3,8)\njmp 5b\n",
            )
        });
        let assembly = format!(
            "{test}movq ($1), $0
            addq $$4, ($1)
            addq $$4, $0
            cmpq $0, ($1)
            jne 1f
            subl $$4, ${{0:k}}
            andl $${mask}, ${{0:k}}
            2: movl ${{2:k}}, {RING_WORDS}($1,$0)
            testw ${{0:w}}, ${{0:w}}
            je 4f
            5:
            .subsection 1
            {count}1: leaq -128(%rsp), %rsp
            subl $$4, ${{0:k}}
            andl $${mask}, ${{0:k}}
            pushq $0
            movl ($1), ${{0:k}}
            3: subl $$4, ${{0:k}}
            andl $${mask}, ${{0:k}}
            cmpl $$0, {RING_WORDS}($1,$0)
            je 6f
            cmpl (%rsp), ${{0:k}}
            jne 3b
            6: leaq 136(%rsp), %rsp
            jmp 2b
            4: leaq -128(%rsp), %rsp
            call {CHUNK_SYMBOL}
            leaq 128(%rsp), %rsp
            jmp 5b
            .previous",
            mask = RING_SIZE - 1,
        );
        let mut operands = vec![self.ring, word];
        let mut constraints = format!("=&r,r,{word_constraint}");
        if let Some((counting, register)) = counting {
            let base = counting.globals.base(builder);
            let counter = counting.offset.cast_signed() + 8 * path.increment;
            let counter = builder.add(base, Type::i64(self.module).int(counter));
            operands.extend([register, counter]);
            constraints += ",r,i";
        }
        constraints += ",~{dirflag},~{fpsr},~{flags}";
        let result = Type::i64(self.module);
        builder.asm(&assembly, &constraints, result, &operands);
    }

    fn append_on_aarch64(
        &self,
        builder: &Builder<'m>,
        path: CounterNumber<'m>,
        counting: Option<(&RingCounting<'_, 'm>, Value<'m>)>,
    ) {
        let long = Type::i64(self.module);
        let mut word = self.word(builder, path.increment);
        if let Some(register) = path.register {
            word = builder.add(register, word);
        }
        let ring_count = counting.map(|(counting, register)| {
            let counters = counting.globals.counter_base_address(builder, self.ring);
            let counter = counting.offset.cast_signed() + 8 * path.increment;
            RingCount {
                register,
                first_appended: long.int(first_appended(counting, path.increment)),
                counter: builder.offset(Type::i8(self.module), counters, long.int(counter)),
            }
        });
        aarch64::append(self.module, builder, self.ring, word, ring_count.as_ref());
    }

    /// The word of a path, minus the path register.
    fn word(&self, builder: &Builder<'m>, path: i64) -> Value<'m> {
        let base = self.globals.base(builder);
        let number = Type::i64(self.module).int(self.first.of_path(path));
        builder.add(base, number)
    }

    /// Calls the runtime wherever an exception or `longjmp` may have removed the frames of callees.
    /// This must be called before other probes are inserted, so that this probe comes first before
    /// an instruction.
    fn mark_catchers(&self, parts: &FunctionParts<'m>, anchors: &Anchors) {
        let catcher = |builder: &Builder<'m>| {
            self.globals
                .move_to_register(builder, self.word(builder, 0))
        };
        mark_catchers(parts, anchors, self.ring, catcher);
    }
}

/// The lowest value of the path register whose path is appended, not counted.
fn first_appended(counting: &RingCounting<'_, '_>, increment: i64) -> i64 {
    counting.paths.first_from_loop().0.cast_signed() - increment
}

/// Like [`Append::mark_catchers`], but for a function that appends no words, so that no word
/// identifies it.
pub(super) fn mark_anonymous_catchers<'m>(parts: &FunctionParts<'m>, ring: Value<'m>) {
    let no_word = |_: &Builder<'m>| Type::i64(parts.function.module()).int(0);
    mark_catchers(parts, &Anchors::new(parts), ring, no_word);
}

/// Inserts a call of the runtime at each catch point. `catcher` makes the function's first word.
fn mark_catchers<'m>(
    parts: &FunctionParts<'m>,
    anchors: &Anchors,
    ring: Value<'m>,
    catcher: impl Fn(&Builder<'m>) -> Value<'m>,
) {
    let catch_points: Vec<_> = parts.catch_points().collect();
    if catch_points.is_empty() {
        return;
    }
    let module = parts.function.module();
    let entry = Builder::before(anchors.anchor(parts, BlockIndex::ENTRY, 0));
    let cursor = entry.load(Type::i64(module), ring);
    let caught = caught(module);
    cursor.as_instruction().expect("a load").set_volatile();
    for (block, index) in catch_points {
        let builder = Builder::before(anchors.anchor(parts, block, index));
        let catcher = catcher(&builder);
        builder.call(caught, Type::void(module), &[cursor, catcher]);
    }
}
