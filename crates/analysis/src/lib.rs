//! Computes the answers that `holloway report` prints from the profiles of a run.
//!
//! [`run`] joins the profiles of a run with the path map of each image. [`graph`] derives edge and
//! block counts from path counts, and [`flow`] derives them from edge counters.
//!
//! Each of these modules computes one answer from these counts: [`paths`], [`trail`],
//! [`directions`], [`edges`], [`branches`], [`blocks`], [`functions`], [`lines`], [`bounds`],
//! [`glue_lines`], [`find`], [`coverage`], [`cpu_time`], [`ways`], [`uncovered`], [`predict`], and,
//! for two runs, [`overlap`] and [`diff`]. [`path_name`] names paths by their decisions, and
//! [`divergence`] finds the decisions that distinguish paths.
//!
//! Some images write each path to a stream instead of counting it. [`stream`] divides the words of
//! a thread into activations, each with its paths. [`loops`] counts sequences of paths over loop
//! iterations. [`trace`] keeps the complete sequence, and [`branch_stream`] derives the order of
//! branches from it, with the addresses of [`block_addresses`] where these are known. [`phases`]
//! divides a trace into phases. [`variation`] ranks paths by how much their time varies.
//! [`unpredictable`] finds the branches that should be selects. [`old_plans`] keeps the counts of a
//! plan after a change of its program. [`layout`] orders blocks and
//! functions.
//!
//! [`covered`] says which part of the source ran: functions, lines, branches, paths, and
//! conditions. [`missing_paths`] puts the paths that never ran next to the nearest ones that did,
//! and [`decisions`] finds the conditions that act on a decision by themselves (MC/DC).
//!
//! [`prime_paths`] follows paths over the back edges of loops. [`test_items`] says what a test
//! covers, and [`test_sets`] finds a smallest set of tests.
//!
//! [`advice`] finds changes of the source that may pay.
//!
//! [`samples`] adds up sampled addresses of programs that count nothing. [`estimate`] derives the
//! executions of blocks and edges from them. [`block_times`] keeps the time of blocks over many
//! runs. [`branch_records`] finds edges and paths in recorded branches, and [`branch_profile`]
//! joins them with the path maps.
//!
//! [`note`] holds facts that the counts do not show, and [`interrupt`] the signal that ended a run.
//! [`misfit`] holds the reasons why the counts of a function do not fit its map. `holloway-report`
//! puts both into words.
//!
//! This crate is pure: it opens no files, reads no clock, and prints nothing.
#![forbid(unsafe_code)]

pub mod advice;
pub mod block_addresses;
pub mod block_times;
pub mod blocks;
pub mod bounds;
pub mod branch_profile;
pub mod branch_records;
pub mod branch_stream;
pub mod branches;
mod chain;
pub mod coverage;
pub mod covered;
pub mod cpu_time;
pub mod deciding;
pub mod decisions;
pub mod diff;
pub mod directions;
pub mod divergence;
pub mod edges;
pub mod estimate;
pub mod find;
pub mod flow;
pub mod functions;
pub mod glue;
pub mod glue_lines;
pub mod graph;
pub mod increments;
pub mod interrupt;
mod join;
pub mod layout;
pub mod left_frames;
pub mod lines;
pub mod loops;
pub mod misfit;
pub mod missing_paths;
pub mod note;
pub mod old_plans;
pub mod origins;
pub mod outline;
pub mod overlap;
pub mod paired;
pub mod path_name;
pub mod paths;
pub mod phases;
pub mod predict;
pub mod predictors;
pub mod prime_paths;
mod random;
pub mod run;
pub mod samples;
pub mod stream;
pub mod tails;
pub mod test_items;
pub mod test_sets;
pub mod trace;
pub mod trail;
pub mod uncovered;
pub mod unpredictable;
pub mod variation;
mod walk;
pub mod ways;

pub use flow::Flow;
pub use interrupt::Interrupt;
pub use note::Note;
pub use paths::Sort;
pub use run::{
    CountBasis, Exits, Function, FunctionId, Image, ImageId, Module, ModuleId, Process, RunProfile,
};
