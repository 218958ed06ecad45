//! Parsers and writers for the files that the weaver, the runtime, the collector, and the reports
//! share.
//!
//! | file | module | written by | read by |
//! |---|---|---|---|
//! | raw profile, `*.hwp` | [`raw`] | the runtime, through a shared mapping | [`read_profile`] |
//! | sealed profile, `*.hwp` | [`sealed`] | the collector, after the process | [`read_profile`] |
//! | path map of a module (*fragment*) | [`map`] | the weaver; cached | the link step, [`image`] |
//! | path map of an image | [`image`] | the link step, into the program | reports |
//! | the same, compressed, `*.hwm` | [`packed_map`] | the collector | reports |
//! | slab forests, `*.hwl` | [`loops`] | the collector, after the process | reports |
//! | traces, `*.hwt` | [`trace`] | the collector, while the process runs | reports |
//! | timings of paths, `*.hwv` | [`variation`] | the collector, after the process | reports |
//! | CPU time of a run, `*.hwc` | [`cpu_time`] | the collector, after the program | reports |
//! | branch records, `*.hwb` | [`branches`] | an import, or a monitor | reports |
//! | starts of blocks, in the program | [`block_probes`] | the code generator | monitors |
//! | guide of a build | [`guide`] | the link step, from an earlier run | the weaver |
//! | recipe of a program, in the program | [`recipe`] | the link step | `holloway optimize` |
//! | plan of an optimized build | [`plan`] | `holloway optimize`, from training | the weaver |
//!
//! The parsers accept arbitrary bytes and return a value or a [`FormatError`] with the byte offset.
//! No parser panics, allocates memory for a length that it has not checked, or takes more than
//! `n log n` time. If a record is damaged, the parser leaves out only this record and lists the
//! loss as [`Damage`].
#![forbid(unsafe_code)]

pub mod block_probes;
pub mod branches;
mod checksum;
mod counter_map;
pub mod cpu_time;
mod cursor;
pub mod damage;
pub mod error;
mod frames;
mod function_index;
mod function_record;
pub mod guide;
pub mod image;
pub mod loops;
pub mod map;
pub mod packed_map;
pub mod plan;
pub mod profile;
mod profile_file;
pub mod raw;
pub mod recipe;
mod result_file;
mod ring_counts;
pub mod samples;
pub mod sealed;
mod site_value;
pub mod text;
mod thread_sums;
pub mod trace;
mod units;
pub mod variation;
pub mod varint;
mod version;
pub mod words;

pub use block_probes::{BlockStart, ProbedCode, read_block_probes};
pub use cpu_time::{
    CpuRecord, FunctionSamples, ProgramSamples, SampledFile, Samples, Sampling, UnusedLibrary,
};
pub use damage::{Damage, DamagedFile, Fact};
pub use error::FormatError;
pub use function_index::FunctionIndex;
pub use guide::{Guide, GuideFunction};
pub use holloway_flow::PathId;
pub use image::{ImageMap, PlacedModule, ReadRange, RingCounterBases, decode_image, encode_image};
pub use loops::{
    ForestNode, FunctionForest, LoopsHead, LoopsProfile, LoopsStats, read_loops, write_loops,
};
pub use map::{
    BlockContent, BlockFact, BlockMap, CaseNames, Counters, DagEdgeMap, DagKind, EdgeKind, EdgeMap,
    FactKind, FunctionMap, Load, LoadShape, LoopMap, ModuleMap, Outcome, Place, Scope, Skipped,
    SourceFile, VanishedFunction, graph_hash,
};
pub use packed_map::{is_intact_packed_map, pack_map, peek_map, read_map, unpack_map};
pub use plan::{
    BlockCode, FunctionCode, FunctionPlan, Plan, PlanError, PrefetchPlan, is_unpredictable,
};
pub use profile::{FunctionCounts, Profile, ProfileHead, WriteFailure};
pub use profile_file::{CounterPlaces, peek_profile, read_counters, read_profile};
pub use raw::RawProfile;
pub use recipe::{Argument, CarriedFile, LineFlavor, Piece, RECIPE_SECTION, Recipe};
pub use result_file::ProcessImage;
pub use ring_counts::ring_counts;
pub use sealed::write_sealed;
pub use site_value::{CallTarget, OperationSize, SiteValue};
pub use text::Text;
pub use units::{Count, Cycles};
pub use variation::{
    Bursts, Distribution, FunctionTimings, PathTimings, Timing, VariationHead, VariationProfile,
    VariationStats, read_variation, write_variation,
};
pub use version::MAP_VERSION;
