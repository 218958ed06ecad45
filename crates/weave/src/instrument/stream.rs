//! Probes that append each path that ends to the thread's stream (`holloway_abi`, *Streams*).
//!
//! # Appending
//! One block of inline assembly, on x86-64 this ([`super::aarch64`] has the other). One instruction takes the place; what was in the cursor is read before it, and whether
//! the two belong together is seen behind it:
//! ```text
//!     movq  (ring), %rax          # any register: the cursor
//!     addq  $4, (ring)            # takes a place
//!     addq  $4, %rax
//!     cmpq  %rax, (ring)          # did a signal handler append in between?
//!     jne   1f
//!     subl  $4, %eax
//!     andl  $RING_SIZE-1, %eax
//! 2:  movl  $word, RING_WORDS(ring,%rax)
//!     testw %ax, %ax              # the first place of a chunk?
//!     je    4f
//! 5:
//! ```
//! and out of the way, behind the function:
//! ```text
//! 1:  leaq  -128(%rsp), %rsp      # past the red zone
//!     subl  $4, %eax
//!     andl  $RING_SIZE-1, %eax
//!     pushq %rax                  # the lowest place that may be ours
//!     movl  (ring), %eax
//! 3:  subl  $4, %eax              # from the last one taken down:
//!     andl  $RING_SIZE-1, %eax
//!     cmpl  $0, RING_WORDS(ring,%rax)
//!     je    6f                    # the first that isn't written is ours
//!     cmpl  (%rsp), %eax
//!     jne   3b
//! 6:  leaq  136(%rsp), %rsp
//!     jmp   2b
//! 4:  leaq  -128(%rsp), %rsp
//!     call  __holloway_chunk      # keeps every register; the stack is aligned to 8 only
//!     leaq  128(%rsp), %rsp
//!     jmp   5b
//! ```
//! All that handlers appended above our place is written by then, and stays in the ring as long as our place is not. bzip2 with rings that
//! nobody reads: +13 %; with `xaddq`, which takes the place and reads the cursor at once, +27 % (130 million words, EPYC); without
//! regard for signals +5 %.
//!
//! A path's word is a constant, or the path register and a constant: 1 + the number of its counter in the image. The link step writes
//! the module's base in units of counters into it.
//!
//! # Paths that are counted instead
//! Where a path ends that may be alone in its activation, the path register is compared first, and such a path counted beside the ring ([`super::beside`]):
//! ```text
//!     cmpq  $above, %rcx          # rcx: the path register
//!     jl    8f                    # 8: incq counter(ring,%rcx,8); jmp 5b
//! ```
//!
//! # Frames that are left
//! A function that an exception or `longjmp` may come back to keeps the cursor as it was at its entry, and says at each place where
//! it may come back ([`Layout::catches`]) that what began behind that position is gone.
//!
//! Loops keep no words in registers: a stream's order is what it is for.

use std::collections::HashMap;

use holloway_abi::{CHUNK, CHUNK_SYMBOL, RING_SIZE, RING_WORDS};
use holloway_flow::Action;
use holloway_format::Counters;
use holloway_llvm::{Block, Builder, Module, Type, Value};

use super::aarch64::{self, Low};
use super::beside::{Alone, Mark, unmarked};
use super::globals::{Globals, caught};
use super::insert::{Anchors, enter, lowest, raised, successors};
use super::probe::Probe;
use super::register::{Graph, Register, reverse_postorder};
use super::sites::Sites;
use super::variable::{Counted, Variable};
use crate::image::Machine;
use crate::lower::Layout;

const _: () = assert!(CHUNK == 1 << 16, "a chunk's first place has 16 low bits 0");

/// What is counted beside the ring in place of being appended.
pub(super) struct Counting<'a, 'm> {
    pub(super) alone: Alone<'a, 'm>,
    /// With the base of these counters.
    pub(super) globals: &'a Globals<'m>,
    /// Of path 0's, from the ring and that base.
    pub(super) offset: u64,
}

/// Inserts a function's probes; `first` is the word of its path 0, less the module's base.
pub(super) fn insert<'m>(
    layout: &Layout<'m>,
    sites: &Sites,
    first: i64,
    globals: &Globals<'m>,
    single: bool,
    counting: Option<&Counting<'_, 'm>>,
) {
    let blocks = layout.blocks.iter().enumerate();
    let position: HashMap<Block<'m>, usize> =
        blocks.map(|(index, info)| (info.block, index)).collect();
    let graph = Graph::new(successors(layout, &position));
    // A word's constant may be made with a zero-extended relocation, as a counter's displacement.
    let sites = raised(sites, lowest(&plain(sites)));
    let register = Register::new(&graph, &sites, &[]);
    let anchors = Anchors::new(layout);
    let mut variable = Variable::new(layout, &sites, &register, &[]);
    let append = Append {
        module: layout.function.module(),
        globals,
        ring: enter(layout, globals, &anchors),
        first,
        single,
        counting,
    };
    append.catchers(layout, &anchors);
    for block in reverse_postorder(&graph.successors) {
        variable.step(&anchors, block, |builder, counted, increment| {
            let (register, number) = match counted {
                Counted::Number(number) => (None, number),
                Counted::Value(value) => (Some(value), 0),
            };
            append.path(builder, register, increment.wrapping_add(number));
        });
    }
    variable.close(&position);
}

/// The sites without marks.
fn plain(sites: &Sites) -> Sites {
    let mut sites = sites.clone();
    let stops = sites.iter_mut().flatten();
    for action in stops.flat_map(|stop| &mut stop.actions) {
        if let Action::Count { increment, .. } = action {
            (*increment, _) = unmarked(*increment);
        }
    }
    sites
}

/// How a path is appended.
struct Append<'a, 'm> {
    module: &'m Module<'m>,
    globals: &'a Globals<'m>,
    /// Address of the thread's `RingHeader`.
    ring: Value<'m>,
    /// Word of path 0, less the module's base.
    first: i64,
    /// Whether the code generator is in a hurry.
    single: bool,
    counting: Option<&'a Counting<'a, 'm>>,
}

impl<'m> Append<'_, 'm> {
    /// Appends the path of number `increment`, plus `register`, or counts it.
    fn path(&self, builder: &Builder<'m>, register: Option<Value<'m>>, increment: i64) {
        let (increment, mark) = unmarked(increment);
        let Some(counting) = self.counting else {
            return self.append(builder, register, increment, None);
        };
        match (mark, register) {
            (Mark::Left, _) => self.count(builder, register, increment, counting),
            (_, None) if counting.alone.holds(increment.cast_unsigned()) => {
                self.count(builder, None, increment, counting);
            }
            (Mark::Outside, Some(_)) => self.append(builder, register, increment, Some(counting)),
            (Mark::None | Mark::Outside, _) => self.append(builder, register, increment, None),
        }
    }

    /// Counts a path beside the ring.
    fn count(
        &self,
        builder: &Builder<'m>,
        register: Option<Value<'m>>,
        increment: i64,
        counting: &Counting<'_, 'm>,
    ) {
        let probe = Probe {
            module: self.module,
            globals: counting.globals,
            counter_block: counting.globals.counters(builder, self.ring),
            counters: Counters::Array {
                offset: counting.offset,
                len: counting.alone.counters(),
            },
            single: self.single,
        };
        probe.count(builder, register, increment);
    }

    /// Appends a path. One of those that are `counting`, whose numbers are lowest, is counted by `8:`, out of the way.
    fn append(
        &self,
        builder: &Builder<'m>,
        register: Option<Value<'m>>,
        increment: i64,
        counting: Option<&Counting<'_, 'm>>,
    ) {
        if self.globals.machine == Machine::Aarch64 {
            self.append_on_aarch64(builder, register, increment, counting);
            return;
        }
        let word = self.word(builder, increment);
        let number = register;
        // In a hurry it would make an address of the base.
        let is_moved = self.single || self.globals.is_moved;
        let (word, place) = match register {
            Some(register) if is_moved => (
                builder.add(register, self.globals.moved(builder, word)),
                "r",
            ),
            Some(register) => (builder.add(register, word), "r"),
            None => (word, "ri"),
        };
        let (test, count) = counting.map_or_else(Default::default, |counting| {
            let above = counting.alone.below().cast_signed() - increment;
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
        let mut constraints = format!("=&r,r,{place}");
        if let (Some(counting), Some(number)) = (counting, number) {
            let base = counting.globals.base(builder);
            let counter = counting.offset.cast_signed() + 8 * increment;
            let counter = builder.add(base, Type::i64(self.module).int(counter));
            operands.extend([number, counter]);
            constraints += ",r,i";
        }
        constraints += ",~{dirflag},~{fpsr},~{flags}";
        let result = Type::i64(self.module);
        builder.asm(&assembly, &constraints, result, &operands);
    }

    fn append_on_aarch64(
        &self,
        builder: &Builder<'m>,
        register: Option<Value<'m>>,
        increment: i64,
        counting: Option<&Counting<'_, 'm>>,
    ) {
        let long = Type::i64(self.module);
        let mut word = self.word(builder, increment);
        let mut low = None;
        if let Some(number) = register {
            word = builder.add(number, word);
            low = counting.map(|counting| {
                let counters = counting.globals.counters(builder, self.ring);
                let counter = counting.offset.cast_signed() + 8 * increment;
                Low {
                    number,
                    above: long.int(counting.alone.below().cast_signed() - increment),
                    counter: builder.offset(Type::i8(self.module), counters, long.int(counter)),
                }
            });
        }
        aarch64::append(self.module, builder, (self.ring, word), low.as_ref());
    }

    /// The word of a path.
    fn word(&self, builder: &Builder<'m>, path: i64) -> Value<'m> {
        let base = self.globals.base(builder);
        let number = Type::i64(self.module).int(self.first.wrapping_add(path));
        builder.add(base, number)
    }

    /// Says where frames above this function's are gone. Before all other probes, so that it comes first where both stand.
    fn catchers(&self, layout: &Layout<'m>, anchors: &Anchors) {
        let catcher = |builder: &Builder<'m>| self.globals.moved(builder, self.word(builder, 0));
        catchers(layout, anchors, self.ring, catcher);
    }
}

/// Says where frames above a function's are gone that appends nothing itself.
pub(super) fn nameless_catchers<'m>(layout: &Layout<'m>, ring: Value<'m>) {
    let nobody = |_: &Builder<'m>| Type::i64(layout.function.module()).int(0);
    catchers(layout, &Anchors::new(layout), ring, nobody);
}

fn catchers<'m>(
    layout: &Layout<'m>,
    anchors: &Anchors,
    ring: Value<'m>,
    catcher: impl Fn(&Builder<'m>) -> Value<'m>,
) {
    let catches: Vec<_> = layout.catches().collect();
    if catches.is_empty() {
        return;
    }
    let module = layout.function.module();
    let entry = Builder::before(anchors.at(layout, 0, 0));
    let cursor = entry.load(Type::i64(module), ring);
    let caught = caught(module);
    cursor.as_instruction().expect("a load").set_volatile();
    for (block, index) in catches {
        let builder = Builder::before(anchors.at(layout, block, index));
        let catcher = catcher(&builder);
        builder.call(caught, Type::void(module), &[cursor, catcher]);
    }
}
