//! Names that woven code, the runtime object, and the linker step share.
//!
//! # Calling convention
//! The entry points use LLVM's `preserve_all` unless their own text says otherwise. On x86-64,
//! every register survives but `rax` and `r11`. On AArch64, every register survives but `x0`,
//! `x16`, `x17`, and `x30`. The flags do not survive.

/// Name of the section that holds the path map.
pub const MAP_SECTION: &str = ".holloway_map";

/// Hidden symbol of the [`ImageHeader`](crate::ImageHeader).
pub const IMAGE_SYMBOL: &str = "__holloway_image";

/// Hidden thread-local symbol, 8 bytes: the address of the thread's counters, or null.
///
/// The address is that of the block's payload, or of the [`RingHeader`](crate::RingHeader).
pub const SLOT_SYMBOL: &str = "__holloway_slot";

/// Entry point: gives the calling thread its block, stores it in the slot, and returns it.
///
/// Signature: `extern fn() -> *mut u8`. It never returns null and never fails: without a file it
/// hands out private memory.
pub const ENTER_SYMBOL: &str = "__holloway_enter";

/// Entry point: counts a path of a hashed function.
///
/// Signature: `extern fn(head: *mut u64, path: u64)`. On AArch64, `x0` to `x8` do not survive
/// either.
pub const HASH_SYMBOL: &str = "__holloway_hash";

/// Entry point (streams): the caller has written the first word of a chunk.
///
/// Signature: `extern fn()`; the slot says which ring. The runtime makes sure that the next chunks
/// are free: it waits for the collector, or spools. Every register survives but the flags. On
/// AArch64, `x16` and `x17` (which a linker's veneer may change) and `x30` do not survive. The
/// stack may have any alignment.
pub const CHUNK_SYMBOL: &str = "__holloway_chunk";

/// Entry point (streams): appends a [`WORD_CAUGHT`](crate::WORD_CAUGHT) record.
///
/// Signature: `extern fn(position: u64, catcher: u32)`.
pub const CAUGHT_SYMBOL: &str = "__holloway_caught";

/// Hidden thread-local symbol (kind variation), 4 bytes, 0 at first: the countdown, which is the
/// number of paths that may still begin before the next burst.
///
/// The beginning of a path subtracts 1, and calls [`BURST_SYMBOL`] where the result is below 0. A
/// loop that begins no path of another function may keep the countdown in a register. It stores the
/// register where control leaves the loop or calls the runtime, and so forgets what a handler
/// subtracted meanwhile. Functions whose time belongs to their callers' paths subtract nothing.
///
/// The runtime object defines the symbol (weak).
pub const COUNTDOWN_SYMBOL: &str = "__holloway_countdown";

/// Entry point (kind variation): the countdown is over, or a burst goes on. Is the path that begins
/// here timed?
///
/// Signature: `extern fn() -> *mut u8`. The result is the thread's
/// [`RingHeader`](crate::RingHeader) if the path is timed. Otherwise it is null, and the countdown
/// has a new value.
pub const BURST_SYMBOL: &str = "__holloway_burst";

/// Entry point (kinds variation and times): a timed path ended.
///
/// Signature: `extern fn(word: u32, start: u64, inner: u64, end: u64) -> *mut u8`. `start` and
/// `inner` are as woven code read them where the path began; `end` is the time stamp counter.
///
/// The result is what [`BURST_SYMBOL`] would return for the next path, whose 1 it subtracts from
/// the countdown. For the kind times, it is always the ring.
///
/// No path follows at once where the function returns, unwinds, or calls `setjmp`. There, `word`
/// has [`OPERAND`](crate::OPERAND) set, the countdown stays as it is, and the result has no
/// meaning.
pub const SAMPLE_SYMBOL: &str = "__holloway_sample";

/// Number of the calling convention `preserve_all` in LLVM.
pub const PRESERVE_ALL: u32 = 15;
