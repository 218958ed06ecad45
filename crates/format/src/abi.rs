//! What woven code, the runtime in the program and the readers agree on, byte for byte.
//!
//! This file is compiled twice: as a module of `holloway-format`, and by path into the runtime object
//! (`no_std`, no dependency). So it holds constants and `repr(C)` records only.
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
//! counters at `module base + f.offset`. Array functions: one `u64` for each path number. Hashed functions: one
//! `u64` there, the address of the thread's current segment for that function plus the logarithm of its slots (no
//! meaning in the file).
//!
//! A *segment* extent's payload is `slots` records of [`HashSlot`], open addressing: a key stands at [`hash_slot`] or, with
//! no free slot between, after it (wrapping); it never moves. A key is written before its count, so a process killed in
//! between leaves a key with a count of 0. Several segments of one function add up. Readers check all of that.

/// Version of everything in this file. Woven objects, runtime and readers refuse another.
pub const ABI_VERSION: u32 = 1;

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
/// x86-64: called with `preserve_all` (every register but `rax` and `r11` survives). Elsewhere the C convention.
/// Signature: `extern fn() -> *mut u8`. Never returns null, never fails: without a file it hands out memory of
/// the process's own.
pub const ENTER_SYMBOL: &str = "__holloway_enter";
/// Runtime hash counter: `extern fn(head: *mut u64, path: u64)`, the same calling convention as [`ENTER_SYMBOL`].
pub const HASH_SYMBOL: &str = "__holloway_hash";

/// Calling convention number of `preserve_all` in LLVM.
pub const PRESERVE_ALL: u32 = 15;

/// Kind of profile: acyclic paths.
pub const KIND_PATHS: u32 = 0;

/// Size of the raw header and granule of extents.
pub const PAGE: u64 = 4096;

/// Describes a woven image to the runtime.
///
/// ```text
/// OFFSET SIZE MEANING
///      0    8  IMAGE_MAGIC
///      8    4  ABI_VERSION
///     12    4  kind of profile (KIND_…)
///     16   16  build id: hash of the path map
///     32    8  block_size: bytes of counters a thread, a multiple of 4096 less 64
///     40    8  reserved, 0
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
    /// 0.
    pub reserved: u64,
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
///     12    4  kind of profile
///     16   16  build id of the image
///     32    8  block_size
///     40    8  end: offset after the last complete extent
///     48    4  process id        52 4 parent's process id
///     56    8  start: nanoseconds since 1970
///     64    8  lost: threads (and hash segments) whose counts could not be put in the file
///     72    4  threads that have entered     76 4 flags: 1 child of fork
///     80    8  start of the process on the boot clock in nanoseconds, for telling reused ids apart (0: unknown)
///     88    8  PID namespace of the process: inode of /proc/self/ns/pid (0: unknown)
///     96   32  reserved, 0
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
    /// Blocks and segments that could not be put in the file.
    pub lost: u64,
    /// Threads that have entered woven code.
    pub threads: u32,
    /// 1: child of a fork.
    pub flags: u32,
    /// Start of the process on the boot clock, in nanoseconds; 0: unknown.
    pub boot_start: u64,
    /// Inode of the namespace in which `pid` is its id; 0: unknown.
    pub pid_namespace: u64,
    /// 0.
    pub reserved: [u64; 4],
    /// Image name, NUL padded.
    pub name: [u8; 80],
    /// Path of the image's file, NUL padded.
    pub path: [u8; 1024],
}

/// Extent kind: a thread's block of counters.
pub const EXTENT_BLOCK: u32 = 1;
/// Extent kind: a segment of a hashed function's counters.
pub const EXTENT_SEGMENT: u32 = 2;

/// Head of an extent.
///
/// ```text
/// OFFSET SIZE MEANING
///      0    8  EXTENT_MAGIC
///      8    4  kind
///     12    4  thread id of the owner (of the present one: blocks are handed on)
///     16    8  size of the extent, this header included: block_size + 64, or 64 + 16 × slots rounded up to 4096
///     24    8  segment: offset of the function's head in the block; block: 0
///     32    8  segment: number of slots, a power of two; block: 0
///     40    8  segment: slots used; block: threads that have owned it
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
#[inline(always)]
pub const fn hash_slot(path: u64, bits: u32) -> u64 {
    path.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - bits)
}

const _: () = assert!(size_of::<ImageHeader>() == 1024);
const _: () = assert!(size_of::<RawHeader>() == 1232);
const _: () = assert!(size_of::<ExtentHeader>() == 64);
const _: () = assert!(size_of::<HashSlot>() == 16);
