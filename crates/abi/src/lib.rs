//! What woven code, the runtime in the program and the readers agree on, byte for byte.
//!
//! This crate is compiled twice: by cargo, and by the build script of `holloway-runtime` into the runtime object. So it is
//! `no_std` without dependencies, and each function is `#[inline]`: the object links nothing but itself.
//!
//! # The image
//! A woven program or shared object is an *image*. Its link adds one object with
//! - [`ImageHeader`] under the hidden symbol `__holloway_image`, in read-only data;
//! - the thread-local slot `__holloway_slot` (8 bytes, null at first): the thread's counter block;
//! - the path map in the allocated read-only section `.holloway_map` (it survives `strip`).
//!
//! # The raw profile: one file for each process and image, written through a shared mapping
//! ```text
//! OFFSET  SIZE  MEANING
//!      0  4096  RawHeader; what follows it in the page is the runtime's own (addresses in the process): not for readers
//!   4096     …  extents, one after the other, up to RawHeader::end
//! ```
//! Each extent starts with a 64-byte [`ExtentHeader`], is a multiple of 4096 bytes long and is complete before
//! `RawHeader::end` moves past it: a reader never meets half an extent, whenever the process was killed.
//!
//! A *block* extent's payload is `block_size` bytes of counters of one thread: function `f` of a module has its
//! counters at `module base + f.offset`. Array functions: one `u64` for each path number (or counted edge). Hashed
//! functions: one `u64` there, the address of the thread's current segment for that function plus the logarithm of its slots (no
//! meaning in the file).
//!
//! A *segment* extent's payload is `slots` records of [`HashSlot`], open addressing: a key stands at [`hash_slot`] or, with
//! no free slot between, after it (wrapping); it never moves. A key is written before its count, so a process killed in
//! between leaves a key with a count of 0. Several segments of one function add up. Readers check all of that.
//!
//! # Streams ([`Kind::Loops`], [`Kind::Trace`])
//! Nothing is counted in blocks there: each path that ends (with [`Kind::Loops`] but for those below) is appended to the thread's *ring*, as one `u32`, its *word*: 1 + the index
//! that its counter would have in a block (`(module base + function offset) / 8 + path number`). The slot then holds the address of a
//! [`RingHeader`], 64 bytes into a *ring* extent; the words' places begin 4096 bytes into the extent. The word at stream position `p` (in bytes, ever
//! growing) is at `p & (ring_size - 1)`; `ring_size` is [`RING_SIZE`], which woven code has as a constant. Appending takes a place by adding 4 to the cursor
//! with one instruction, then writes the word there: a signal handler's words come before or after it, and never over it. A place that is taken but not
//! written yet is 0 (a *hole*). Whoever wrote the first word of a chunk (its position a multiple of [`CHUNK`]) calls [`CHUNK_SYMBOL`] next: it returns when
//! [`RESERVE`] bytes from the chunk's start on are free, so that handlers which interrupt each other just before such calls still find free places.
//!
//! Words from [`WORD_CONTROL`] on are control words; the operands that follow one are words with bit 31 set, 31 bits of payload each, lowest first.
//! An operand may look like a control word: readers take as many as are due. Control words and their operands stand together: they take their places with one instruction, and are written one after the other. A record that a handler jumped out of lacks words, whose places stay 0. A spool or a reader's batch may end between them.
//!
//! | word | operands | meaning |
//! |---|---|---|
//! | [`WORD_CAUGHT`] | 3: position `P` / 4 (low, high 31 bits), the catcher: word of path 0 of its function | an exception, or a `longjmp`, came back to a frame whose function was entered when the cursor was `P`: all frames entered later are gone |
//! | [`WORD_OWNER`] | 1: thread id | what follows is another thread's: a stream of its own begins. Every ring begins with one, and every new owner of a ring (of a dead thread, of an unloaded library) appends one |
//!
//! With [`Kind::Loops`], behind the words (`RING_WORDS + RING_SIZE` from the [`RingHeader`]) lie counters, `block_size` bytes and 64 of them: paths that
//! are whole activations, or are left in a call, are counted there as in a block, and no word of them is appended (`format::map`, "Paths in streams"). Woven code knows where by a symbol
//! of its own (its module's base with `_beside` behind its name). A catcher all of whose paths are such is 0 in a [`WORD_CAUGHT`].
//!
//! # Timed paths ([`Kind::Variation`], [`Kind::Times`])
//! Rings as above, but only the runtime appends: a *sample* is the path's word and seven operands, as control words have them:
//!
//! | operand | bits | meaning |
//! |---|---|---|
//! | 0, 1 | 31 + 31 | program time (below) at the path's start, low and high half (62 bits) |
//! | 2 | 31 | low half of the duration in cycles of program time; it has the bias of one probe in it, the path's own, which readers subtract |
//! | 3 | 22 + 9 | high half of the duration, above the `SAMPLE_…` flags and, at [`SAMPLE_CHECK`], the check |
//! | 4 | 31 | low half of the cycles in paths that were timed in between (callees'), of each only its own, without bias |
//! | 5 | 31 | its high half |
//! | 6 | 31 | paths begun that this sample stands for: the sum over a thread's samples is the number of paths that it began, as far as chance tells. 0: a sample that ended earlier, of a callee, has said so |
//!
//! The check makes the exclusive or of all hexadecimal digits of a sample, its word's and its operands' without bit 31, come to 0 ([`digits`]): so a sample with a
//! bit that was turned over is known, and fifteen in sixteen that are nonsense.
//!
//! So a path's inclusive time is its duration less the bias, and its own time is that less operands 4 and 5 (where [`SAMPLE_CALLED`] isn't set).
//!
//! [`WORD_CLOCK`] has 10 operands: time stamp counter, nanoseconds of CLOCK_MONOTONIC (31 + 31 bits each, low half first), the probe's bias in cycles, involuntary
//! context switches of the thread so far, cycles that probes have taken so far (31 + 31 bits), the clock's resolution in cycles: two times of the same length may come out this far apart,
//! for the clock goes in steps and probes waver; and the exclusive or of all these. It stands where a thread's stream begins, and before a sample where the
//! last one is 2^26 cycles old or more. Time stamp counter less probes' cycles is the program time then.
//!
//! All eight words of a sample take their places with one instruction (`xadd`), so a handler's stand before or after them. A sample that a kill cut short lacks operands
//! (its words are 0 in the file): readers leave out what is not whole.
//!
//! Paths are timed by the *program time*: the time stamp counter less [`BurstState::probe`], what probes have taken so far. A visit of the runtime stops it. Behind a visit whose answer is that a
//! path begins, woven code lets it go on: `inner` = [`BurstState::inner`], `start` = [`BurstState::resume`], then `lfence; rdtsc; lfence`, `inner` and `resume` are written back, `probe` = that clock − `start`
//! (a handler that is timed may come between: its time is a probe's; where it comes between the last two, `probe + resume` is ahead of the clock until the next visit). Elsewhere the visit itself has read the clock when it ended. Where a path begins without a visit
//! ([`Kind::Times`], where a function does): `inner` and `probe` are read, then the clock, `start` = that − `probe`. Where a path ends: `lfence; rdtsc`, `end` = that, as it is.
//! AArch64: `isb; mrs x, cntvct_el0; isb` and `isb; mrs x, cntvct_el0`; "cycles" are that counter's ticks; "time stamp counter" means it.
//! The runtime makes the duration `end - probe - start`. What a probe takes outside of the path that it times (in the runtime, and before and after) and the bias
//! are no program time of the paths around it.
//!
//! Taking words out. One reader at a time: the collector that the file's head names ([`RawHeader::collector`]), while it lives and the process does; without
//! one, the threads themselves, who spool; after the end whoever finds the file. It
//! 1. loads `cursor` (relaxed will do) and `missing`; words stand in `taken .. min(cursor, missing)`;
//! 2. loads words (relaxed: nothing else hangs on them) up to the first hole. Woven code stores them relaxed, on any processor;
//! 3. sets their places to 0 (relaxed), adds those that were holes to `holes`, then stores `taken` (release; the owner loads it with acquire before it uses the places again);
//! 4. `fence(SeqCst)`, loads `waiting`, and if it is 1 wakes the owner: `FUTEX_WAKE` (shared, not private) on the low half of `taken`. The owner sets
//!    `waiting`, fences, looks at `taken` once more and only then waits; a time-out of 20 ms covers the rest.
//!
//! A hole is left out (it stays a 0 in what is handed on) where nobody will fill it, or nobody can wait for that: below [`RingHeader::start`], whose owner is dead; at `taken`, when
//! `waiting` was 1 (acquire), the owner can't go on before the hole is taken (`(cursor - 4 rounded down to CHUNK) + RESERVE > taken + ring_size`; it may only not have been
//! woken yet from an earlier wait), and the place was 0 still *after* that: the owner runs in a handler far above the frame that left the hole, or jumped out of it
//! for good; when the process is gone. In the second case the frame may still write its word, or the rest of its record, a lap too late: those words are lost, and may stand in place of others.
//!
//! The collector gone, or no space left: `missing` is set, the line on stderr written, `lost` counted. The file keeps the words in the ring up to
//! there, since the thread's words go to memory of its own from then on; only the cursor goes on.
//!
//! A *spool* extent is a piece of a ring's stream, taken out by the thread itself because no collector reads it: 64 bytes of
//! [`ExtentHeader`], then an LZ4 block. A kill may come between the spool and the move of `taken`: a reader goes on in the ring where the last spool ends.
#![no_std]
#![forbid(unsafe_code)]

pub mod environment;
mod kind;

pub use kind::{
    InlineCounts, Kind, LeftFrames, PathEnds, Storage, StreamFile, Timing, Traits, Unit,
    UnknownKind,
};

/// Version of everything in this file. Woven objects, runtime and readers refuse another.
pub const ABI_VERSION: u32 = 5;

/// First eight bytes of an [`ImageHeader`].
pub const IMAGE_MAGIC: [u8; 8] = *b"HLWIMAGE";
/// First eight bytes of a raw profile.
pub const RAW_MAGIC: [u8; 8] = *b"HLWRAWPR";
/// First eight bytes of an extent.
pub const EXTENT_MAGIC: [u8; 8] = *b"HLWEXTNT";

/// Name of the section that holds the path map.
pub const MAP_SECTION: &str = ".holloway_map";
/// Hidden symbol of the [`ImageHeader`].
pub const IMAGE_SYMBOL: &str = "__holloway_image";
/// Hidden thread-local symbol: address of the thread's counter block (payload), or null.
pub const SLOT_SYMBOL: &str = "__holloway_slot";
/// Runtime entry: gives the calling thread its block, stores it in the slot and returns it.
///
/// Called with LLVM's `preserve_all`. x86-64: every register but `rax` and `r11` survives; AArch64: every one but `x0`, `x16`, `x17` and `x30`.
/// Signature: `extern fn() -> *mut u8`. Never returns null, never fails: without a file it hands out memory of
/// the process's own.
pub const ENTER_SYMBOL: &str = "__holloway_enter";
/// Runtime hash counter: `extern fn(head: *mut u64, path: u64)`, the same calling convention as [`ENTER_SYMBOL`], but that `x0` to `x8` don't survive on AArch64.
pub const HASH_SYMBOL: &str = "__holloway_hash";

/// Calling convention number of `preserve_all` in LLVM.
pub const PRESERVE_ALL: u32 = 15;

/// Hidden thread-local symbol ([`Kind::Variation`]), 4 bytes, 0 at first: paths that may still begin before the next burst. Whoever begins a path takes
/// one away, and calls [`BURST_SYMBOL`] where that leaves less than 0. A loop that begins no path of another function may keep it in a register, and stores it where it is left or
/// calls the runtime; what a handler took meanwhile is forgotten. Functions that are left to their callers' times take nothing. The runtime object has it (weak).
pub const COUNTDOWN_SYMBOL: &str = "__holloway_countdown";
/// Runtime entry ([`Kind::Variation`]): the countdown is over, or a burst goes on: is the path that begins here timed? `extern fn() -> *mut u8`, the
/// calling convention of [`ENTER_SYMBOL`]: the thread's [`RingHeader`] if so, else null (the countdown is set anew).
pub const BURST_SYMBOL: &str = "__holloway_burst";
/// Runtime entry ([`Kind::Variation`], [`Kind::Times`]): a timed path ended. `extern fn(word: u32, start: u64, inner: u64, end: u64) -> *mut u8`, the calling convention of
/// [`ENTER_SYMBOL`]: `start` and `inner` as read where the path began, `end` the time stamp counter. Returns what [`BURST_SYMBOL`] would for the path that
/// begins next (for [`Kind::Times`] always the ring); it takes that path's one from the countdown. Where no path begins at once, as the function returns or unwinds or calls `setjmp`, `word` has
/// [`OPERAND`] set: nothing is taken away, and the result means nothing.
pub const SAMPLE_SYMBOL: &str = "__holloway_sample";
/// Environment variable: `N:M`, how many paths pass before a burst and how many a burst times, each at most [`BURST_MOST`]; `0:1` times all. Absent: [`BURST`].
pub const BURST_VARIABLE: &str = "HOLLOWAY_BURST";
/// Greatest numbers in [`BURST_VARIABLE`]. M is 1 at least.
pub const BURST_MOST: u32 = 1_000_000_000;
/// Paths that pass before a burst, paths in it (Perelman, Chilimbi, Calder 2005: 10,000 and 1).
pub const BURST: (u32, u32) = (10_000, 1);
/// Paths at the beginning of a burst that run in the timed code with probes, and of which no sample is told; but no more than one for each [`WARM_EVERY`] that pass before
/// a burst: where bursts are so near, the caches still hold their code.
pub const WARM_UP: u32 = 8;
/// Paths that pass for each that warms up, at least.
pub const WARM_EVERY: u32 = 128;

/// Runtime entry (streams): called by the one who has written the first word of a chunk, to make sure that the next chunks
/// are free; waits for the collector, or spools. `extern fn()`, no argument (the slot says which ring). Keeps every register but the flags, and
/// on AArch64 x16, x17 (a linker's veneer's) and x30, which the call itself changes; at any alignment of the stack.
pub const CHUNK_SYMBOL: &str = "__holloway_chunk";
/// Runtime entry (streams): appends a [`WORD_CAUGHT`] record: `extern fn(position: u64, catcher: u32)`, the same calling convention
/// as [`ENTER_SYMBOL`].
pub const CAUGHT_SYMBOL: &str = "__holloway_caught";
/// Bytes of a chunk of a ring: [`CHUNK_SYMBOL`] is called where the place just written is a multiple of it.
pub const CHUNK: u64 = 1 << 16;
/// Bytes of a ring's words; a power of two. What a busy thread appends in some milliseconds, so that it goes on while a block of its trace is cut; not more, as each
/// thread that lives reserves so much of the disk.
pub const RING_SIZE: u64 = 1 << 21;
/// Bytes that are free from the start of a chunk on when [`CHUNK_SYMBOL`] returns to whoever began it.
pub const RESERVE: u64 = 6 * CHUNK;
/// First control word.
pub const WORD_CONTROL: u32 = 0xFFFF_FF00;
/// Control word: a frame was come back to.
pub const WORD_CAUGHT: u32 = WORD_CONTROL + 1;
/// Control word: the ring's next owner.
pub const WORD_OWNER: u32 = WORD_CONTROL + 2;
/// Control word: the thread's clock.
pub const WORD_CLOCK: u32 = WORD_CONTROL + 3;
/// Set in operands of control words.
pub const OPERAND: u32 = 1 << 31;
/// Offset of a ring's words from its [`RingHeader`].
pub const RING_WORDS: u64 = PAGE - 64;
/// Environment variable: the process id of the collector that reads the rings of this run, a space, and the directory it finds them in. Absent, or
/// HOLLOWAY_DATA names another directory: threads spool.
pub const COLLECTOR_VARIABLE: &str = "HOLLOWAY_COLLECTOR";

/// Size of the raw header and granule of extents.
pub const PAGE: u64 = 4096;

/// Describes a woven image to the runtime.
///
/// ```text
/// OFFSET SIZE MEANING
///      0    8  IMAGE_MAGIC
///      8    4  ABI_VERSION
///     12    4  kind of collection ([`Kind`])
///     16   16  build id: hash of the path map
///     32    8  block_size: bytes of counters a thread, a multiple of 4096 less 64
///     40    8  parameter of the kind: for loops, k (iterations); 0: the reader's choice
///     48   80  name of the image (file name of the link's output), NUL padded
///    128  896  directory for runs where HOLLOWAY_DATA isn't set, NUL padded; empty: target/holloway/runs
/// ```
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ImageHeader {
    /// [`IMAGE_MAGIC`].
    pub magic: [u8; 8],
    /// [`ABI_VERSION`].
    pub version: u32,
    /// Kind of profile.
    pub kind: u32,
    /// Hash of the path map.
    pub build_id: [u8; 16],
    /// Bytes of counters a thread; `block_size + 64` is a multiple of [`PAGE`].
    pub block_size: u64,
    /// Parameter of the kind.
    pub parameter: u64,
    /// File name of the image, NUL padded.
    pub name: [u8; 80],
    /// Directory of runs, NUL padded, or empty.
    pub runs: [u8; 896],
}

/// Head of a raw profile.
///
/// ```text
/// OFFSET SIZE MEANING
///      0    8  RAW_MAGIC
///      8    4  ABI_VERSION
///     12    4  kind of collection ([`Kind`])
///     16   16  build id of the image
///     32    8  block_size
///     40    8  end: offset after the last complete extent
///     48    4  process id        52 4 parent's process id
///     56    8  start: nanoseconds since 1970
///     64    8  lost: threads (and hash segments) whose counts could not be put in the file, rings whose `missing` was set
///     72    4  threads that have entered     76 4 flags: 1 child of fork
///     80    8  start of the process on the boot clock in nanoseconds, for telling reused ids apart (0: unknown)
///     88    8  PID namespace of the process: inode of /proc/self/ns/pid (0: unknown)
///     96    4  collector: process id of the collector that takes words out of the rings; 0: the threads spool
///    100   28  reserved, 0
///    128   80  image name, NUL padded
///    208 1024  path of the image's file, NUL padded; empty if unknown
/// ```
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RawHeader {
    /// [`RAW_MAGIC`].
    pub magic: [u8; 8],
    /// [`ABI_VERSION`].
    pub version: u32,
    /// Kind of profile.
    pub kind: u32,
    /// Build id of the image.
    pub build_id: [u8; 16],
    /// Bytes of counters a thread.
    pub block_size: u64,
    /// Offset after the last complete extent.
    pub end: u64,
    /// Process id.
    pub pid: u32,
    /// Parent's process id.
    pub ppid: u32,
    /// Nanoseconds since 1970.
    pub start: u64,
    /// Blocks and segments that could not be put in the file, rings that dropped words.
    pub lost: u64,
    /// Threads that have entered woven code.
    pub threads: u32,
    /// 1: child of a fork.
    pub flags: u32,
    /// Start of the process on the boot clock, in nanoseconds; 0: unknown.
    pub boot_start: u64,
    /// Inode of the namespace in which `pid` is its id; 0: unknown.
    pub pid_namespace: u64,
    /// Process that takes words out of the rings; 0: none, threads spool.
    pub collector: u32,
    /// 0.
    pub reserved: [u32; 7],
    /// Image name, NUL padded.
    pub name: [u8; 80],
    /// Path of the image's file, NUL padded.
    pub path: [u8; 1024],
}

/// Extent kind: a thread's block of counters.
pub const EXTENT_BLOCK: u32 = 1;
/// Extent kind: a segment of a hashed function's counters.
pub const EXTENT_SEGMENT: u32 = 2;

/// Extent kind: a thread's ring.
pub const EXTENT_RING: u32 = 3;
/// Extent kind: a spooled piece of a ring's stream.
pub const EXTENT_SPOOL: u32 = 4;

/// Head of an extent.
///
/// ```text
/// OFFSET SIZE MEANING
///      0    8  EXTENT_MAGIC
///      8    4  kind
///     12    4  thread id of the owner (of the present one: blocks are handed on)
///     16    8  size of the extent, this header included: block_size + 64, or 64 + 16 × slots rounded up to 4096, or 4096 + ring_size (with
///              [`Kind::Loops`] block_size + 64 more), or 64 + the LZ4 block rounded up to 4096
///     24    8  segment: offset of the function's head in the block; spool: file offset of its ring's extent; others: 0
///     32    8  segment: number of slots, a power of two; ring: ring_size; spool: stream position (bytes) of its first word; block: 0
///     40    8  segment: slots used; block and ring: threads that have owned it; spool: bytes of words << 32 | bytes of the LZ4 block
///     48   16  the runtime's own (its list of extents, as addresses in the process): not for readers
/// ```
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ExtentHeader {
    /// [`EXTENT_MAGIC`].
    pub magic: [u8; 8],
    /// [`EXTENT_BLOCK`] or [`EXTENT_SEGMENT`].
    pub kind: u32,
    /// Thread id of the owner.
    pub tid: u32,
    /// Bytes, header included.
    pub size: u64,
    /// Segment: offset of the function's head in the block.
    pub head: u64,
    /// Segment: number of slots.
    pub slots: u64,
    /// Segment: slots used. Block: owners so far.
    pub used: u64,
    /// The runtime's own; no meaning in the file.
    pub reserved: [u64; 2],
}

/// What the thread's slot points to while streams are collected; at offset 64 of a ring extent.
///
/// ```text
/// OFFSET SIZE MEANING
///      0    8  cursor: stream position (bytes) after the last place taken; only the owner adds to it
///      8    8  origin: cursor at the start (in a child of fork: the parent's cursor then), a multiple of CHUNK rounded up
///     16    8  ring_size: bytes of words, RING_SIZE
///     24    8  start: position where the present owner's words begin (of its WORD_OWNER)
///     32   32  the runtime's own: not for readers
///     64    8  taken: stream position up to which words are out of the ring (collector, or the thread as it spools); from there to cursor
///              they are in it
///     72    4  waiting: 1 while the owner waits on `taken` (a futex on its low 32 bits); whoever moves it wakes
///     76    4  reserved, 0
///     80    8  missing: stream position from which on words are dropped since the collector is gone or no space was left; u64::MAX: none
///     88    8  controls: words appended that end no path: control words and their operands
///     96    8  left_out: words of paths that the collector took and, for a sample, left out
///    104    8  holes: places that the collector took as they were, never written
///    112   16  reserved, 0
/// ```
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RingHeader {
    /// Position after the last place taken.
    pub cursor: u64,
    /// Position of the first word.
    pub origin: u64,
    /// Bytes of words.
    pub ring_size: u64,
    /// Position where the present owner's words begin.
    pub start: u64,
    /// The runtime's own.
    pub own: [u64; 4],
    /// Position after the last word taken out.
    pub taken: u64,
    /// Whether the owner waits.
    pub waiting: u32,
    /// 0.
    pub reserved: u32,
    /// Position from which on words are missing.
    pub missing: u64,
    /// Words appended that end no path.
    pub controls: u64,
    /// Words of paths that were taken out and not looked at.
    pub left_out: u64,
    /// Places that were taken out and never written; also those of a record that a handler jumped out of, which `controls` has as well.
    pub holes: u64,
    /// 0.
    pub more: [u64; 2],
}

/// What a thread's bursts have come to ([`Kind::Variation`], [`Kind::Times`]); behind its [`RingHeader`], at offset 128 from it. Woven code reads the first three and writes them.
///
/// ```text
/// OFFSET SIZE MEANING
///      0    8  probe: cycles that probes have taken
///      8    8  inner: cycles of all timed paths that ended, of each what was not in others; bit 63, the runtime's mark: the path that begins warms a burst up
///     16    8  resume: program time at which the last visit of the runtime began, and at which the program goes on behind it. Added to `probe`: the clock when it went on
///     24  104  the runtime's own
/// ```
#[repr(C)]
#[derive(Clone, Copy)]
pub struct BurstState {
    /// Cycles that probes have taken.
    pub probe: u64,
    /// Cycles of all timed paths that ended, of each what was not in others.
    pub inner: u64,
    /// Program time at which the program goes on behind the last visit.
    pub resume: u64,
    /// The runtime's own.
    pub own: [u64; 13],
}

/// Offset of the [`BurstState`] from the [`RingHeader`].
pub const BURST_STATE: u64 = 128;

/// Flag of a sample: the thread was preempted while the path ran.
pub const SAMPLE_PREEMPTED: u32 = 1;
/// Flag of a sample: the thread was moved to another processor while the path ran. Moves while it waited of its own accord are the program's doing, and not said.
pub const SAMPLE_MIGRATED: u32 = 2;
/// Flag of a sample: woven code ran in between that wasn't timed, so its own time isn't known.
pub const SAMPLE_CALLED: u32 = 4;
/// Flag of a sample: whether the thread was preempted can't be told.
pub const SAMPLE_UNWATCHED: u32 = 8;
/// Flag of a sample: what the path took can't be told (its duration is the bias): it began in another thread, or before a handler whose probes it doesn't know; or it was
/// hardly longer than the paths timed in it, and what their probes are taken to cost came to more than all of it.
pub const SAMPLE_UNKNOWN: u32 = 256;
/// Words of a sample.
pub const SAMPLE_WORDS: usize = 8;
/// Words of a [`WORD_CLOCK`] with its operands.
pub const CLOCK_WORDS: usize = 11;
/// Bits of flags, and the check, below the high half of a sample's duration.
pub const SAMPLE_FLAG_BITS: u32 = 9;
/// Place of the check, four bits, among a sample's flags.
pub const SAMPLE_CHECK: u32 = 4;

/// The exclusive or of the hexadecimal digits of all words, of operands without their mark: 0 of a whole sample.
#[inline]
pub const fn digits(words: [u32; SAMPLE_WORDS]) -> u32 {
    let [a, b, c, d, e, f, g, h] = words;
    let all = (a ^ b ^ c ^ d ^ e ^ f ^ g ^ h) & !OPERAND;
    let all = all ^ all >> 16;
    let all = all ^ all >> 8;
    (all ^ all >> 4) & 0xF
}
/// Cycles between two clocks of a thread that goes on taking samples.
pub const CLOCK_AGE: u64 = 1 << 26;

/// A counter of a hashed function: `key` is path number + 1, or 0 for a free slot. A key with count 0 is a path that
/// was about to be counted when the process was killed.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct HashSlot {
    /// Path number + 1, or 0.
    pub key: u64,
    /// Times the path ran.
    pub count: u64,
}

/// Slot where the search for `path` begins in a segment of `2^bits` slots (then linear, wrapping).
#[inline]
pub const fn hash_slot(path: u64, bits: u32) -> u64 {
    path.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - bits)
}

const _: () = assert!(size_of::<ImageHeader>() == 1024);
const _: () = assert!(size_of::<RawHeader>() == 1232);
const _: () = assert!(size_of::<ExtentHeader>() == 64);
const _: () = assert!(size_of::<HashSlot>() == 16);
const _: () = assert!(size_of::<RingHeader>() as u64 == BURST_STATE);
const _: () = assert!(size_of::<BurstState>() == 128);
