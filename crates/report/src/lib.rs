//! Answers shown: the terminal report and JSON.
//!
//! [`terminal`] writes what a person reads, [`json`] what a program reads (schema 1, docs/json.md). Both take a
//! [`RunProfile`](holloway_analysis::RunProfile) and [`Options`]. Neither looks at the terminal, the clock or the environment: width,
//! colour and working directory are the caller's to say, source text comes through [`Source`].
#![forbid(unsafe_code)]

mod filter;
pub mod json;
pub mod names;
mod numbers;
mod places;
pub mod source;
pub mod terminal;

use std::path::PathBuf;

pub use holloway_analysis::Sort;
use regex::Regex;
pub use source::{Files, Source};

/// What to show of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum View {
    /// The hottest paths.
    #[default]
    Paths,
    /// A row for each function.
    Functions,
    /// The edges taken most.
    Edges,
    /// The source with a count for each line.
    Lines,
}

/// How to show it.
pub struct Options<'a> {
    /// What to show; JSON shows everything whatever this is.
    pub view: View,
    /// What makes a path or a function hot.
    pub sort: Sort,
    /// Rows (paths, functions, edges, files) to show. `None`: 10 on the terminal, all in JSON.
    pub top: Option<usize>,
    /// Only functions whose name, as shown, this matches.
    pub function: Option<Regex>,
    /// Write ANSI colours.
    pub color: bool,
    /// Columns of the terminal; `usize::MAX` clips nothing.
    pub width: usize,
    /// Source files below this directory are shown relative to it.
    pub cwd: Option<PathBuf>,
    /// Where the source text comes from.
    pub source: &'a dyn Source,
}

impl<'a> Options<'a> {
    /// The defaults: hottest paths by count, no colour, nothing clipped.
    pub fn new(source: &'a dyn Source) -> Options<'a> {
        Options {
            view: View::default(),
            sort: Sort::default(),
            top: None,
            function: None,
            color: false,
            width: usize::MAX,
            cwd: None,
            source,
        }
    }
}
