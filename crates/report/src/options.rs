//! The options of reports: the view, the order, limits, and the look.

use std::path::PathBuf;

use holloway_abi::Unit;
use holloway_analysis::{RunProfile, Sort};
use regex::Regex;

use crate::source::Source;

/// A view of a run.
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
    /// The paths that an edge profile would predict, compared with the paths that ran.
    PathsFromEdges,
}

/// The default view of a run: paths, or edges if the run recorded edges.
pub fn default_view(run: &RunProfile) -> View {
    match run.unit() {
        Unit::Paths => View::Paths,
        Unit::Edges => View::Edges,
    }
}

/// The options of a report.
pub struct Options<'a> {
    /// The view. `None`: [`default_view`]. JSON contains everything except two views: it contains
    /// the prediction and the lines only if this field names them.
    pub view: Option<View>,
    /// The order of paths, functions, and blocks: by count or by instructions.
    pub sort: Sort,
    /// Rows to show: paths, functions, edges, blocks, or files. `None`: all in JSON; 10 on the
    /// terminal, and the hottest lines.
    pub top: Option<usize>,
    /// Show only functions whose demangled name matches.
    pub function: Option<Regex>,
    /// Write ANSI colors.
    pub color: bool,
    /// Columns of the terminal. `usize::MAX`: lines are never clipped.
    pub width: usize,
    /// Source files below this directory are shown relative to it.
    pub cwd: Option<PathBuf>,
    /// Gives the source text.
    pub source: &'a dyn Source,
}

impl<'a> Options<'a> {
    /// The defaults: the run's default view, ordered by count, without color and clipping.
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
