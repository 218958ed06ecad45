//! Answers shown: the terminal report and JSON.
//!
//! [`terminal`] writes what a person reads, [`json`] what a program reads (schema 1, docs/json.md); [`overlap`] writes both of
//! two runs, [`loops`] chooses the sequences over loop iterations that both write, [`trace`] what traces can be asked, [`variation`] chooses the paths whose time varies. All take a [`RunProfile`] and [`Options`]. None looks at the terminal, the clock or the environment: width,
//! colour and working directory are the caller's to say, source text comes through [`Source`].
#![forbid(unsafe_code)]

mod filter;
pub mod json;
mod lines;
pub mod loops;
pub mod names;
mod numbers;
pub mod overlap;
mod places;
pub mod source;
pub mod terminal;
pub mod trace;
pub mod variation;

use std::path::PathBuf;

use holloway_abi::Unit;
use holloway_analysis::RunProfile;
pub use holloway_analysis::Sort;
pub use loops::LoopsOptions;
pub use numbers::{grouped, plural};
use regex::Regex;
pub use source::{Files, Source};

/// What a sentence says among the [damage](RunProfile::damage) that is none: a part of what ran was chosen.
pub const SAMPLE: &str = "this is a sample";
/// What it says besides where that was asked for of a stream.
pub const SAMPLED: &str = "(--sample)";

/// What to show of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum View {
    /// The hottest paths.
    Paths,
    /// A row for each function.
    Functions,
    /// The edges taken most.
    Edges,
    /// The blocks reached most.
    Blocks,
    /// The source with a count for each line.
    Lines,
    /// The paths that an edge profile would predict, against the real ones.
    PathsFromEdges,
}

/// What a run is shown by where the reader doesn't say: its paths, or the edges where that is what it recorded.
pub fn default_view(run: &RunProfile) -> View {
    match run.unit() {
        Unit::Paths => View::Paths,
        Unit::Edges => View::Edges,
    }
}

/// How to show it.
pub struct Options<'a> {
    /// What to show. `None`: [`default_view`]. JSON shows everything whatever this is, the prediction and the lines apart.
    pub view: Option<View>,
    /// What makes a path, a function or a block hot.
    pub sort: Sort,
    /// Rows (paths, functions, edges, blocks, files) to show. `None`: 10 on the terminal, of lines the hottest; all in
    /// JSON.
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
    /// The defaults: what the run recorded, by count, no colour, nothing clipped.
    pub fn new(source: &'a dyn Source) -> Options<'a> {
        Options {
            view: None,
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
