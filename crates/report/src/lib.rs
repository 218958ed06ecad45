//! Reports: text on the terminal, and JSON.
//!
//! [`terminal`] writes reports for people, [`json`] writes them for programs (schema 1,
//! docs/json.md). Both use these modules:
//!
//! - [`notes`] words samples, losses, and damage;
//! - [`loops`] chooses the sequences over loop iterations;
//! - [`trace`] has the questions about traces, and their answers;
//! - [`variation`] chooses the paths whose time varies;
//! - [`overlap`] and [`stability`] compare runs; each writes text and JSON.
//!
//! All take [`Options`]. This crate does not read the terminal, the clock, or the environment: the
//! caller gives the width, colors, and working directory. Source text comes through a [`Source`].
#![forbid(unsafe_code)]

mod filter;
pub mod json;
mod lines;
pub mod loops;
pub mod names;
pub mod notes;
mod numbers;
pub mod options;
pub mod overlap;
mod places;
pub mod source;
pub mod stability;
pub mod terminal;
pub mod trace;
pub mod variation;

pub use holloway_analysis::Sort;
pub use loops::LoopsOptions;
pub use numbers::{grouped, plural};
pub use options::{Options, View, default_view};
pub use source::{Files, Source};
