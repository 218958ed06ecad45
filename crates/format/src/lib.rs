//! The records shared by weaver, runtime and reports: ABI, profile, path map.
//!
//! | file | module | written by | read by |
//! |---|---|---|---|
//! | raw profile, `*.hwp` | [`raw`] | the runtime, through a shared mapping | [`profile::read_profile`] |
//! | sealed profile, `*.hwp` | [`sealed`] | `holloway run`, after the process ended | [`profile::read_profile`] |
//! | path map of a module (*fragment*) | [`map`] | the weaver, once a module; cached | the link step, [`image`] |
//! | path map of an image, `*.hwm` | [`image`] | the link step, into the program | reports |
//! | slab forests, `*.hwl` | [`loops`] | the collector, when the process has ended | reports |
//! | timings of paths, `*.hwv` | [`variation`] | the collector, when the process has ended | reports |
//! | guide of a build | [`guide`] | the link step, from an earlier run | the weaver |
//!
//! Any bytes give a value or a [`FormatError`] with the offset: no reader panics, allocates what a length merely
//! claims, or takes more than `n log n` time. Damage inside a record costs that record and is listed as [`Damage`].
#![forbid(unsafe_code)]

mod cursor;
pub mod damage;
pub mod error;
mod frames;
pub mod guide;
mod head;
pub mod image;
pub mod loops;
pub mod map;
pub mod profile;
pub mod raw;
pub mod repair;
pub mod sealed;
pub mod text;
pub mod trace;
pub mod variation;
pub mod varint;
pub mod words;

pub use damage::{Damage, DamagedFile, Fact};
pub use error::FormatError;
pub use guide::{Guide, GuideFunction};
pub use image::{Beside, ImageMap, PlacedModule, decode_image, encode_image};
pub use loops::{
    ForestNode, FunctionForest, LoopsHead, LoopsProfile, LoopsStats, peek_loops, read_loops,
    write_loops,
};
pub use map::{
    BlockMap, CaseNames, Counters, DagEdgeMap, DagKind, EdgeKind, EdgeMap, FunctionMap, Gone, Load,
    LoadShape, LoopMap, MAP_VERSION, ModuleMap, Outcome, Place, Scope, Skipped, graph_hash,
};
pub use profile::{FunctionCounts, Profile, ProfileHead, peek_profile, read_profile};
pub use raw::{RawProfile, RawWriter};
pub use sealed::write_sealed;
pub use text::Text;
pub use variation::{
    Bursts, Distribution, FunctionTimings, PathTimings, Timing, VariationHead, VariationProfile,
    VariationStats, peek_variation, read_variation, write_variation,
};
