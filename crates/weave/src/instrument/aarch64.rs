//! AArch64's ways with memory that x86-64 has single instructions for.
//!
//! # Adding
//! A signal handler may count in the same counter, so what is loaded must be stored before anything comes between. A pair of exclusive
//! instructions, which every such processor has, is tried again if something did (an exception takes the mark away):
//! ```text
//! 1:  ldxr  x16, [counter]
//!     add   x16, x16, #1
//!     stxr  w17, x16, [counter]
//!     cbnz  w17, 1b
//! ```
//! Four instructions for x86-64's one. Not taken: `stadd` where the function may use it (Armv8.1), as a second sequence for
//! speed alone, on machines that none of us has.
//!
//! # Appending
//! The same takes a place of the ring, so nothing has to be looked for when a handler came between, as on x86-64
//! ([`super::stream`]): ten instructions, nine of which run, and two that load the base where that is not at hand.
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
//! A path that may be alone in its activation is compared first, and counted beside the ring. All stores are plain: a word says all by itself,
//! readers stop at a place that is 0 still, and the runtime's own stores tell them when to stop waiting for it (`holloway_abi`).

use holloway_abi::{CHUNK, CHUNK_SYMBOL, RING_SIZE, RING_WORDS};
use holloway_llvm::{Builder, Module, Type, Value};

/// What a call changes, and a linker's veneer on the way to it. LLVM knows x30 by this name only, and says nothing of unknown ones.
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

/// A path that is counted in place of being appended if its number is low.
pub(super) struct Low<'m> {
    pub(super) number: Value<'m>,
    /// The first number that is appended.
    pub(super) above: Value<'m>,
    /// Address of the counter of number 0.
    pub(super) counter: Value<'m>,
}

/// Appends a word to the ring.
pub(super) fn append<'m>(
    module: &'m Module<'m>,
    builder: &Builder<'m>,
    (ring, word): (Value<'m>, Value<'m>),
    low: Option<&Low<'m>>,
) {
    let count = low.map_or("", |_| {
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
    if let Some(low) = low {
        operands.extend([low.number, low.above, low.counter]);
        constraints += ",r,rI,r";
    }
    let constraints = format!("{constraints}{CALL}");
    builder.asm(&assembly, &constraints, Type::void(module), &operands);
}
