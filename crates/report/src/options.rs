//! What to show of a run, and how.

use std::path::PathBuf;

use holloway_abi::Unit;
use holloway_analysis::{RunProfile, Sort};
use regex::Regex;

use crate::source::Source;

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

/// The view of a run if the reader names none: its paths, or its edges if it recorded edges.
pub fn default_view(run: &RunProfile) -> View {
    match run.unit() {
        Unit::Paths => View::Paths,
        Unit::Edges => View::Edges,
    }
}

/// How to show it.
pub struct Options<'a> {
    /// What to show. `None`: [`default_view`]. JSON shows everything, but the prediction and the
    /// lines only if this names them.
    pub view: Option<View>,
    /// What makes a path, a function or a block hot.
    pub sort: Sort,
    /// Rows to show: paths, functions, edges, blocks, or files. `None`: all in JSON; 10 on the
    /// terminal, and the hottest lines.
    pub top: Option<usize>,
    /// Only functions whose name, as shown, this matches.
    pub function: Option<Regex>,
    /// Write ANSI colors.
    pub color: bool,
    /// Columns of the terminal; `usize::MAX` clips nothing.
    pub width: usize,
    /// Source files below this directory are shown relative to it.
    pub cwd: Option<PathBuf>,
    /// Where the source text comes from.
    pub source: &'a dyn Source,
}

impl<'a> Options<'a> {
    /// The defaults: what the run recorded, by count, no color, nothing clipped.
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
