//! AArch64's instruction sequences for counting a path and for appending a word.
//!
//! # Adding to a counter
//! Between a load and a store, a signal handler may increment the same counter. So the probe uses
//! an exclusive load and an exclusive store, which every AArch64 processor has. The store fails if
//! an exception came between the two, and then the probe starts again:
//! ```text
//! 1:  ldxr  x16, [counter]
//!     add   x16, x16, #1
//!     stxr  w17, x16, [counter]
//!     cbnz  w17, 1b
//! ```
//! This is four instructions, where x86-64 has one. The instruction `stadd` of Armv8.1 would be
//! faster, but older processors would still need this sequence, so `stadd` is not used.
//!
//! # Appending a word
//! A pair of exclusive instructions also reserves a cell of the ring. So the probe need not
//! search for its cell after a signal handler came between, as the probe of x86-64 must
//! ([`super::stream`]). The probe has ten instructions, of which usually nine run. If the module's
//! base is in no register, two more instructions load it.
//! ```text
//! 1:  ldxr  x16, [ring]             # the cursor
//!     add   x17, x16, #4
//!     stxr  w30, x17, [ring]
//!     cbnz  w30, 1b
//!     and   x16, x16, #RING_SIZE-1
//!     add   x17, ring, #RING_WORDS
//!     str   word, [x17, x16]
//!     tst   x16, #0xffff            # the first cell of a chunk?
//!     b.ne  2f
//!     bl    __holloway_chunk        # keeps every register but x16, x17 and x30
//! 2:
//! ```
//! For a path that may be a whole activation, the probe first compares the path register, and then
//! counts the path next to the ring or appends it. All stores are plain, without memory ordering. A
//! word is complete in one store, the collector stops at a cell that is still 0, and the
//! runtime's stores tell the collector when to stop waiting for a cell (`holloway_abi`).

use holloway_abi::{CHUNK, CHUNK_SYMBOL, RING_SIZE, RING_WORDS};
use holloway_llvm::{Builder, Module, Type, Value};

/// The registers that a call changes, including a veneer that the linker may insert before the
/// callee. LLVM knows x30 only by the name `lr`, and silently ignores unknown names.
const CALL_CLOBBERS: &str = ",~{x16},~{x17},~{lr},~{cc}";

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

/// The operands of a probe that counts a path next to the ring if the path's number is low.
pub(super) struct RingCount<'m> {
    /// The path register.
    pub(super) register: Value<'m>,
    /// The lowest value of the register whose path is appended.
    pub(super) first_appended: Value<'m>,
    /// The address of the counter for register value 0.
    pub(super) counter: Value<'m>,
}

/// Appends a word to the ring. With `ring_count`, first tests whether to count the path instead.
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
    let constraints = format!("{constraints}{CALL_CLOBBERS}");
    builder.asm(&assembly, &constraints, Type::void(module), &operands);
}
