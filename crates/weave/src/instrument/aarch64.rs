//! AArch64's instruction sequences where x86-64 has single instructions.
//!
//! # Adding
//! A signal handler may increment the same counter between a load and a store. A pair of exclusive
//! instructions, which every such processor has, fails if an exception came between, and is
//! repeated:
//! ```text
//! 1:  ldxr  x16, [counter]
//!     add   x16, x16, #1
//!     stxr  w17, x16, [counter]
//!     cbnz  w17, 1b
//! ```
//! Four instructions for x86-64's one. `stadd` (Armv8.1) would be a second sequence for speed
//! alone, so it is not used.
//!
//! # Appending
//! A pair of exclusive instructions also takes a place in the ring. So the probe need not search
//! for its place after a handler came between, as x86-64's does ([`super::stream`]). The probe has
//! ten instructions, of which nine run, and two more that load the base where it is in no register.
//! ```text
//! 1:  ldxr  x16, [ring]             # the cursor
//!     add   x17, x16, #4
//!     stxr  w30, x17, [ring]
//!     cbnz  w30, 1b
//!     and   x16, x16, #RING_SIZE-1
//!     add   x17, ring, #RING_WORDS
//!     str   word, [x17, x16]
//!     tst   x16, #0xffff            # the first place of a chunk?
//!     b.ne  2f
//!     bl    __holloway_chunk        # keeps every register but x16, x17 and x30
//! 2:
//! ```
//! A path that may be a whole activation is compared first, and counted next to the ring. All
//! stores are plain: a word needs no other store to be understood, readers stop at a place that is
//! still 0, and the runtime's own stores tell readers when to stop waiting for the place
//! (`holloway_abi`).

use holloway_abi::{CHUNK, CHUNK_SYMBOL, RING_SIZE, RING_WORDS};
use holloway_llvm::{Builder, Module, Type, Value};

/// The registers that a call changes, and a linker's veneer on the way to it. LLVM knows x30 by
/// this name only, and ignores unknown names silently.
const CALL: &str = ",~{x16},~{x17},~{lr},~{cc}";

/// Adds to the number at `counter`.
pub(super) fn add<'m>(
    module: &'m Module<'m>,
    builder: &Builder<'m>,
    counter: Value<'m>,
    amount: Value<'m>,
) {
    const ADD: &str = "1: ldxr x16, [$0]
        add x16, x16, $1
        stxr w17, x16, [$0]
        cbnz w17, 1b";
    let (constraints, void) = ("r,rI,~{x16},~{x17}", Type::void(module));
    builder.asm(ADD, constraints, void, &[counter, amount]);
}

/// A path that is counted instead of appended if its number is low.
pub(super) struct RingCount<'m> {
    /// The path register.
    pub(super) register: Value<'m>,
    /// The first value of the register whose path is appended.
    pub(super) first_appended: Value<'m>,
    /// Address of the counter of register value 0.
    pub(super) counter: Value<'m>,
}

/// Appends a word to the ring.
pub(super) fn append<'m>(
    module: &'m Module<'m>,
    builder: &Builder<'m>,
    ring: Value<'m>,
    word: Value<'m>,
    ring_count: Option<&RingCount<'m>>,
) {
    let count = ring_count.map_or("", |_| {
        "cmp $2, $3
        b.ge 4f
        add x16, $4, $2, lsl #3
        3: ldxr x17, [x16]
        add x17, x17, #1
        stxr w30, x17, [x16]
        cbnz w30, 3b
        b 2f
        4:"
    });
    let assembly = format!(
        "{count}
        1: ldxr x16, [$0]
        add x17, x16, #4
        stxr w30, x17, [$0]
        cbnz w30, 1b
        and x16, x16, #{mask}
        add x17, $0, #{RING_WORDS}
        str ${{1:w}}, [x17, x16]
        tst x16, #{first}
        b.ne 2f
        bl {CHUNK_SYMBOL}
        2:",
        mask = RING_SIZE - 1,
        first = CHUNK - 1,
    );
    let mut operands = vec![ring, word];
    let mut constraints = String::from("r,r");
    if let Some(count) = ring_count {
        operands.extend([count.register, count.first_appended, count.counter]);
        constraints += ",r,rI,r";
    }
    let constraints = format!("{constraints}{CALL}");
    builder.asm(&assembly, &constraints, Type::void(module), &operands);
}
