//! Profiles in, answers out: what `holloway report` knows before it prints.
//!
//! [`run`] joins the profiles of a run with the path map of each image; [`graph`] turns path counts into edge and
//! block counts. On these two stand the answers, which don't know each other: [`paths`], [`trail`], [`edges`],
//! [`functions`], [`lines`], [`find`], [`coverage`].
//!
//! Pure: no file, no clock, no printing.
#![forbid(unsafe_code)]

pub mod coverage;
pub mod edges;
pub mod find;
pub mod functions;
pub mod graph;
pub mod lines;
pub mod paths;
pub mod run;
pub mod trail;

pub use graph::Flow;
pub use paths::Sort;
pub use run::{Function, FunctionId, Image, ImageId, Module, ModuleId, Process, RunProfile};
