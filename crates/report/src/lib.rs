//! Writes reports of runs, as text for the terminal and as JSON.
//!
//! [`terminal`] writes reports for people, [`json`] writes them for programs (schema 1,
//! docs/json.md), [`html`] writes a page for browsers, and [`export`] writes files for other
//! programs. They use these modules:
//!
//! - [`notes`] writes the sentences about samples, losses, and damage;
//! - [`check_selection`] checks that the names in a question exist;
//! - [`code`] selects the code to show, by crate, file, and origin;
//! - [`colors`] has the colors of counts;
//! - [`loops`] selects the loops and sequences of paths to show;
//! - [`phases`] has the phases of a thread, with the source of their code;
//! - [`predictors`] has what simulated branch predictors find in a thread;
//! - [`thread`] is a thread whose branches a report is about;
//! - [`trace`] has the questions about traces, and their answers;
//! - [`optimize`] has what an optimization gained, and [`plan`] writes plans;
//! - [`variation`] selects the paths with varying time to show;
//! - [`advice`] words advice for people;
//! - [`annotation`] has the source of a function or file with counts and branch outcomes;
//! - [`browse`] has the content of the terminal interface;
//! - [`budget`] checks a run against limits.
//!
//! [`overlap`] and [`stability`] compare runs. Each of them writes text and JSON.
//!
//! All reports take [`Options`]. This crate does not query the terminal, the clock, or the
//! environment: the caller passes the width, colors, and working directory. Source text comes from
//! a [`Source`].
#![forbid(unsafe_code)]

pub mod advice;
pub mod annotation;
pub mod browse;
pub mod budget;
mod changes;
pub mod code;
pub mod colors;
mod covered;
mod cpu_time;
pub mod diff;
pub mod export;
mod filter;
pub mod html;
pub mod json;
mod left_frames;
mod lines;
pub mod live_phases;
pub mod loops;
pub mod names;
pub mod notes;
mod numbers;
mod one_function;
pub mod optimize;
pub mod options;
pub mod overlap;
mod parts;
mod path_names;
pub mod phases;
mod places;
pub mod plan;
pub mod predictors;
mod samples;
mod selection;
mod similar;
pub mod source;
pub mod stability;
pub mod suite;
mod suite_runs;
pub mod terminal;
pub mod test_coverage;
pub mod thread;
pub mod trace;
mod uncovered;
pub mod variation;

pub use code::{CodeFilter, Glob, Origin};
pub use colors::Colors;
pub use holloway_analysis::Sort;
pub use loops::LoopsOptions;
pub use numbers::{grouped, plural, share};
pub use one_function::{
    Choice, NamedFunction, OneFunctionError, SeveralFunctions, chosen_path, function_pattern,
    names_function, one_function,
};
pub use options::{Head, Options, PathChoice, View, default_view};
pub use path_names::full_name as full_path_name;
pub use places::short as short_file;
pub use samples::SampleView;
pub use selection::{SelectionError, check_function_or_file, check_sampled, check_selection};
pub use source::{Files, Source, changed_files};
