//! What woven code, the runtime in the program, and the readers of its files share, byte for byte.
//!
//! Cargo compiles this crate for the readers. The build script of `holloway-runtime` compiles it
//! again, into the runtime object. So the crate is `no_std` without dependencies, and each function
//! is `#[inline]`: the runtime object links nothing else.
//!
//! | module | contents |
//! |---|---|
//! | `kind` | the kinds of collection |
//! | [`environment`] | the environment variables |
//! | `image` | the header of a woven program or shared object |
//! | `symbols` | names of sections, symbols, and entry points |
//! | `profile` | the raw profile and its head |
//! | `extent` | the pieces of a raw profile |
//! | `hash` | counters of hashed functions |
//! | `ring` | the ring of a thread: appending, taking words out, holes |
//! | `word` | the words of a stream |
//! | `burst` | which paths are timed, and the program time |
//! | `sample` | records of timed paths, clocks |
//!
//! All modules but [`environment`] are private: their items are at the crate's root.
//! Numbers are little-endian.
#![no_std]
#![forbid(unsafe_code)]

mod burst;
pub mod environment;
mod extent;
mod hash;
mod image;
mod kind;
mod profile;
mod ring;
mod sample;
mod symbols;
mod word;

pub use burst::{
    BURST_MOST, BURST_STATE, BURST_VARIABLE, BurstRate, BurstState, DEFAULT_BURST_RATE, WARM_EVERY,
    WARM_UP,
};
pub use extent::{
    EXTENT_BLOCK, EXTENT_MAGIC, EXTENT_RING, EXTENT_SEGMENT, EXTENT_SPOOL, ExtentHeader,
};
pub use hash::{HashSlot, hash_slot};
pub use image::{IMAGE_MAGIC, ImageHeader};
pub use kind::{
    DEFAULT_K, InlineCounts, Kind, LeftFrames, PathEnds, Storage, StreamFile, Timing, Traits, Unit,
    UnknownKind,
};
pub use profile::{PAGE, RAW_MAGIC, RawHeader};
pub use ring::{CHUNK, COLLECTOR_VARIABLE, RESERVE, RING_SIZE, RING_WORDS, RingHeader};
pub use sample::{
    CLOCK_AGE, CLOCK_WORDS, SAMPLE_CALLED, SAMPLE_CHECK, SAMPLE_FLAG_BITS, SAMPLE_MIGRATED,
    SAMPLE_PREEMPTED, SAMPLE_UNKNOWN, SAMPLE_UNWATCHED, SAMPLE_WORDS, digits,
};
pub use symbols::{
    BURST_SYMBOL, CAUGHT_SYMBOL, CHUNK_SYMBOL, COUNTDOWN_SYMBOL, ENTER_SYMBOL, HASH_SYMBOL,
    IMAGE_SYMBOL, MAP_SECTION, PRESERVE_ALL, SAMPLE_SYMBOL, SLOT_SYMBOL,
};
pub use word::{OPERAND, WORD_CAUGHT, WORD_CLOCK, WORD_CONTROL, WORD_OWNER};

/// Version of everything in this crate. Woven objects, runtime, and readers refuse another.
pub const ABI_VERSION: u32 = 5;
