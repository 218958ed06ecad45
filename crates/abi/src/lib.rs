//! The binary layouts, constants, and names that woven code, the runtime inside the program, and
//! the readers of its files share.
//!
//! Cargo compiles this crate for the readers: the weaver, the link step, the collector, and the
//! reports. The build script of `holloway-runtime` compiles the crate again for the runtime object.
//! The runtime object links with no library. So this crate is `no_std` without dependencies, and
//! each function that the runtime calls is `#[inline]`.
//!
//! | module | contents |
//! |---|---|
//! | `kind` | the kinds of collection |
//! | [`environment`] | the environment variables |
//! | `image` | the header of a woven program or shared object |
//! | `symbols` | names of sections, symbols, and entry points of the runtime |
//! | `place` | the directory of runs in a user's state directory |
//! | `profile` | the raw profile and its header |
//! | `extent` | extents: the pieces of a raw profile |
//! | `hash` | counters of functions with too many paths for an array |
//! | `ring` | the ring of a thread: how its owner appends words, and how a reader takes them |
//! | `word` | the words of a stream |
//! | `burst` | the rate of timed paths, and the program time |
//! | `sample` | the records of timed paths, and clock records |
//!
//! All modules except [`environment`] are private. The crate's root exports their items.
//! All numbers are little-endian.
#![no_std]
#![forbid(unsafe_code)]

mod burst;
pub mod environment;
mod extent;
mod hash;
mod image;
mod kind;
mod place;
mod profile;
mod ring;
mod sample;
mod symbols;
mod word;

pub use burst::{
    BURST_MOST, BURST_STATE, BurstRate, BurstState, DEFAULT_BURST_RATE, WARM_EVERY, WARM_UP,
};
pub use environment::{BURST_VARIABLE, COLLECTOR_VARIABLE};
pub use extent::{
    EXTENT_BLOCK, EXTENT_CELLS, EXTENT_MAGIC, EXTENT_RING, EXTENT_SEGMENT, EXTENT_SPOOL,
    ExtentHeader,
};
pub use hash::{HashSlot, hash_slot};
pub use image::{IMAGE_MAGIC, ImageHeader};
pub use kind::{
    DEFAULT_K, InlineCounts, Kind, LeftFrames, PathEnds, Storage, StreamFile, Timing, Traits, Unit,
    UnknownKind,
};
pub use place::{
    BUILD_NAME_LIMIT, STATE_IN_HOME, STATE_RUNS, build_name, build_name_beginning,
    is_cut_build_name,
};
pub use profile::{PAGE, RAW_MAGIC, RAW_PATH_SIZE, RawHeader, raw_path_size};
pub use ring::{CHUNK, FIRST_CELLS, RESERVE, RING_SIZE, RING_WORDS, RingHeader};
pub use sample::{
    CLOCK_AGE, CLOCK_WORDS, SAMPLE_CALLED, SAMPLE_CHECK, SAMPLE_FLAG_BITS, SAMPLE_MIGRATED,
    SAMPLE_PREEMPTED, SAMPLE_UNKNOWN, SAMPLE_UNWATCHED, SAMPLE_WORDS, digits,
};
pub use symbols::{
    BURST_SYMBOL, CAUGHT_SYMBOL, CHUNK_SYMBOL, COUNTDOWN_SYMBOL, ENTER_SYMBOL, HASH_SYMBOL,
    IMAGE_SYMBOL, MAP_SECTION, PRESERVE_ALL, SAMPLE_SYMBOL, SLOT_SYMBOL,
};
pub use word::{OPERAND, WORD_CAUGHT, WORD_CLOCK, WORD_CONTROL, WORD_OWNER};

/// The version of the layouts and names in this crate.
///
/// The link step and the runtime reject objects of other versions.
pub const ABI_VERSION: u32 = 6;

/// The oldest version whose programs and raw profiles can be read. Since version 6, the header of a
/// raw profile has more room for the image's path.
pub const OLDEST_ABI_VERSION: u32 = 5;
