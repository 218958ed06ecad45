//! The names of sections, symbols, and entry points that woven code, the runtime object, and the
//! link step share.
//!
//! An *entry point* is a function of the runtime that woven code calls.
//!
//! # Calling convention
//! The entry points use LLVM's calling convention `preserve_all`, with the exceptions in their own
//! documentation. On x86-64, a call preserves every register except `rax` and `r11`. On AArch64, a
//! call preserves every register except `x0`, `x16`, `x17`, and `x30`. A call does not preserve the
//! flags.

/// Name of the section that holds the path map.
pub const MAP_SECTION: &str = ".holloway_map";

/// Hidden symbol of the [`ImageHeader`](crate::ImageHeader).
pub const IMAGE_SYMBOL: &str = "__holloway_image";

/// Hidden thread-local symbol of the slot, 8 bytes: the address of the thread's block or ring, or
/// null.
///
/// The slot points to the block's counters or to the [`RingHeader`](crate::RingHeader).
pub const SLOT_SYMBOL: &str = "__holloway_slot";

/// Entry point: gives the calling thread a block or ring, stores its address in the slot, and
/// returns the address.
///
/// Signature: `extern fn() -> *mut u8`. The function never returns null. If there is no file, the
/// block or ring is in private memory.
pub const ENTER_SYMBOL: &str = "__holloway_enter";

/// Entry point: counts a path of a hashed function, or a value: the target of an indirect call, or
/// the size of a memory operation.
///
/// Signature: `extern fn(head: *mut u64, path: u64)`. `head` is the address of the function's
/// segment pointer in the block. On AArch64, the call does not preserve `x0` to `x8` either.
pub const HASH_SYMBOL: &str = "__holloway_hash";

/// Entry point (streams): the caller has written the first word of a chunk.
///
/// Signature: `extern fn()`; the slot points to the ring. The runtime ensures that the next chunks
/// are free: it waits for the collector, or spools. The call preserves every register, but not the
/// flags. On AArch64, the call does not preserve `x30` and the registers `x16` and `x17`, which a
/// linker's veneer may change. The stack may have any alignment.
pub const CHUNK_SYMBOL: &str = "__holloway_chunk";

/// Entry point (streams): appends a [`WORD_CAUGHT`](crate::WORD_CAUGHT) record.
///
/// Signature: `extern fn(position: u64, catcher: u32)`. The record's operands are `position / 4`
/// and `catcher`.
pub const CAUGHT_SYMBOL: &str = "__holloway_caught";

/// Hidden thread-local symbol (kind variation), 4 bytes, 0 at first: the countdown, which is the
/// number of paths that may still begin before the next burst.
///
/// When a path begins, woven code subtracts 1, and calls [`BURST_SYMBOL`] if the result is
/// negative. A loop without calls of other woven functions may keep the countdown in a register.
/// The loop stores the register when control leaves the loop or calls the runtime. This store
/// overwrites subtractions of a signal handler that ran in between. Functions whose time belongs to
/// their callers' paths subtract nothing.
///
/// The runtime object defines the symbol as weak.
pub const COUNTDOWN_SYMBOL: &str = "__holloway_countdown";

/// Entry point (kind variation): decides whether the path that begins is timed. Woven code calls it
/// if the countdown is negative, which is also the case during a burst.
///
/// Signature: `extern fn() -> *mut u8`. The result is the thread's
/// [`RingHeader`](crate::RingHeader) if the path is timed. If the path is not timed, the result is
/// null, and the countdown has a new value.
pub const BURST_SYMBOL: &str = "__holloway_burst";

/// Entry point (kinds variation and times): a timed path ended.
///
/// Signature: `extern fn(word: u32, start: u64, inner: u64, end: u64) -> *mut u8`. `start` and
/// `inner` are the values that woven code read when the path began
/// ([`BurstState`](crate::BurstState)). `end` is the clock when the path ended.
///
/// The call also begins the next path: it subtracts 1 from the countdown, and its result is the
/// result of [`BURST_SYMBOL`] for that path. For the kind times, the result is always the ring.
///
/// If the function returns, unwinds, or calls `setjmp` next, no path follows at once. Woven code
/// then sets [`OPERAND`](crate::OPERAND) in `word`. The countdown does not change, and the result
/// has no meaning.
pub const SAMPLE_SYMBOL: &str = "__holloway_sample";

/// LLVM's number of the calling convention `preserve_all`.
pub const PRESERVE_ALL: u32 = 15;
