//! The options of reports: the view, the order, the number of rows, the functions, and the layout.

use std::path::PathBuf;

use holloway_abi::Unit;
use holloway_analysis::branches::PreviousPaths;
use holloway_analysis::functions::Weight;
use holloway_analysis::path_name::NamePrefix;
use holloway_analysis::{RunProfile, Sort};
use regex::Regex;

use crate::code::CodeFilter;
use crate::colors::Colors;
use crate::source::Source;

/// A view of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum View {
    /// The hottest paths.
    Paths,
    /// A row for each function.
    Functions,
    /// The edges that control took most often.
    Edges,
    /// The branches that are hardest to predict.
    Branches,
    /// The blocks that control reached most often.
    Blocks,
    /// The source with a count for each line.
    Lines,
    /// The paths that an edge profile would predict, compared with the paths that ran.
    PathsFromEdges,
    /// The code that never ran. In JSON, a document of its own.
    Uncovered,
}

/// The default view of a run: paths, or edges if the run recorded edges.
pub fn default_view(run: &RunProfile) -> View {
    match run.unit() {
        Unit::Paths => View::Paths,
        Unit::Edges => View::Edges,
    }
}

/// A path that the user wants to see.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PathChoice {
    /// The name of the path's function, as the user wrote it.
    pub function: String,
    /// The beginning of the path's name.
    pub prefix: NamePrefix,
}

impl PathChoice {
    /// Reads `search#3fa2`. `None` if the text does not name a path.
    pub fn parse(text: &str) -> Option<PathChoice> {
        let (function, prefix) = NamePrefix::split(text).filter(|(name, _)| !name.is_empty())?;
        let function = function.to_owned();
        Some(PathChoice { function, prefix })
    }

    /// Matches the demangled names of the functions that the user may mean: the name is the
    /// function's name or its end after a `::`, with or without generic parameters and arguments.
    ///
    /// # Panics
    /// Never: the name is escaped.
    pub fn functions(&self) -> Regex {
        PathChoice::functions_named(&self.function)
    }

    /// Matches the demangled names of the functions that a user may mean by a name, as
    /// [`functions`](Self::functions) does.
    ///
    /// # Panics
    /// Never: the name is escaped.
    pub fn functions_named(name: &str) -> Regex {
        let name = regex::escape(name);
        let regex = Regex::new(&format!("(?:^|::){name}(?:(?:::)?[<(].*)?$"));
        regex.expect("an escaped name is a regex")
    }
}

/// Whether a report on the terminal begins with its head: the CPU time, the coverage, and the
/// functions that the user selected. Several views of one run have one head.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Head {
    /// The report has a head.
    #[default]
    Shown,
    /// The report has the view only.
    Hidden,
}

/// The options of a report.
pub struct Options<'a> {
    /// The view, or `None` for [`default_view`]. JSON documents contain the data of all views, with
    /// three exceptions: they contain the prediction, the branches, or the lines only if `view` is
    /// that view.
    pub view: Option<View>,
    /// The order of paths, functions, blocks, and edges: by count or by instructions.
    pub sort: Sort,
    /// Orders functions by samples of CPU time instead.
    pub by_time: bool,
    /// Maximum number of rows: paths, functions, edges, branches, blocks, or lines. `None` means
    /// all rows in JSON, and 10 rows on the terminal. In the lines view, `None` means about a
    /// hundred rows, or all lines of the selected functions.
    pub top: Option<usize>,
    /// Shows only functions whose demangled name matches.
    pub function: Option<Regex>,
    /// Shows only the path of these functions that has this name.
    pub path: Option<PathChoice>,
    /// Shows only this code.
    pub code: CodeFilter,
    /// Whether to write the head, on the terminal.
    pub head: Head,
    /// The colors of the terminal.
    pub colors: Colors,
    /// Columns of the terminal. With `usize::MAX`, lines are never clipped.
    pub width: usize,
    /// The working directory. The names of source files below it are shown relative to it.
    pub cwd: Option<PathBuf>,
    /// The source text.
    pub source: &'a dyn Source,
    /// How often sequences of paths ran, for the branches view.
    pub previous_paths: Option<&'a PreviousPaths>,
}

impl<'a> Options<'a> {
    /// The defaults: the run's default view, ordered by instructions, without color and clipping.
    pub fn new(source: &'a dyn Source) -> Options<'a> {
        Options {
            view: None,
            sort: Sort::default(),
            by_time: false,
            top: None,
            function: None,
            path: None,
            code: CodeFilter::default(),
            head: Head::default(),
            colors: Colors::None,
            width: usize::MAX,
            cwd: None,
            source,
            previous_paths: None,
        }
    }

    /// The measure that orders functions.
    pub(crate) fn function_weight(&self, run: &RunProfile) -> Weight {
        match self.by_time {
            true => Weight::Time,
            false => Weight::of(run, self.sort),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::PathChoice;

    fn check(name: &str, function: &str, expect: bool) {
        let choice = PathChoice::parse(&format!("{name}#3fa2")).unwrap();
        assert_eq!(choice.function, name);
        let regex = choice.functions();
        assert_eq!(regex.is_match(function), expect, "{name}: {function}");
    }

    #[test]
    fn a_chosen_path_belongs_to_functions_with_the_name() {
        check("search", "app::search", true);
        check("app::search", "app::search", true);
        check("search", "app::research", false);
        check("search", "search_all", false);
        check("bar", "foo::bar(int)", true);
        check("sum", "app::sum::<u32>", true);
        check("f::{closure#0}", "app::f::{closure#0}", true);
        check("<a::B as c::D>::go", "<a::B as c::D>::go", true);
    }

    #[test]
    fn other_texts_choose_no_path() {
        for text in ["search", "search#12", "#3fa2", "f::{closure#0}", "a#b.*"] {
            assert_eq!(PathChoice::parse(text), None, "{text}");
        }
    }
}
