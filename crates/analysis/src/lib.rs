//! Profiles in, answers out: what `holloway report` knows before it prints.
//!
//! [`run`] holds the profiles of a run joined with the path map of each image; [`graph`] turns path counts, [`flow`] edge
//! counters into edge and block counts. On these stand the answers, which don't know each other: [`paths`], [`trail`],
//! [`directions`], [`edges`], [`blocks`], [`functions`], [`lines`], [`bounds`], [`find`], [`coverage`], [`predict`], and of two runs
//! [`overlap`].
//!
//! Where paths were not counted but written down, [`stream`] reads a thread's words as activations and the paths each ran; [`loops`] counts the
//! sequences of these over loop iterations, [`trace`] keeps them all; [`variation`] ranks paths by how much the time varies that each took.
//!
//! Pure: no file, no clock, no printing.
#![forbid(unsafe_code)]

pub mod blocks;
pub mod bounds;
pub mod coverage;
pub mod directions;
pub mod edges;
pub mod find;
pub mod flow;
pub mod functions;
pub mod graph;
mod join;
pub mod lines;
pub mod loops;
pub mod overlap;
pub mod paths;
pub mod predict;
pub mod run;
pub mod stream;
pub mod trace;
pub mod trail;
pub mod variation;
mod walk;

pub use flow::Flow;
pub use paths::Sort;
pub use run::{Exits, Function, FunctionId, Image, ImageId, Module, ModuleId, Process, RunProfile};
