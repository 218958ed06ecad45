//! Exports of runs: files that other programs open. docs/export.md says which format is for which
//! program.
//!
//! Each format has its own file. [`stacks`] makes stacks of paths for flame graphs, [`coverage`] has
//! lines and branches for tools of coverage, and [`table`] has the rows of tables.

mod callgrind;
mod cobertura;
mod coverage;
mod csv;
mod dot;
mod firefox;
mod folded;
mod format;
mod lcov;
mod parquet;
mod pprof;
mod sample_profile;
mod sarif;
mod sarif_log;
mod speedscope;
mod stacks;
mod table;
mod words;

use std::fmt;
use std::io::{self, Write};

use holloway_abi::Unit;
use holloway_analysis::RunProfile;
use holloway_analysis::paths::Ranked;
use holloway_analysis::variation::VariationRun;

use crate::filter::Filter;
use crate::json;
use crate::options::Options;
pub use format::{Content, Format};
use stacks::Stacks;
pub use stacks::Weight;

/// The program that wrote a file.
const EXPORTER: &str = concat!("holloway ", env!("CARGO_PKG_VERSION"));

type Result<T> = std::result::Result<T, ExportError>;

/// A run to export.
pub struct ExportRun<'a> {
    /// The counts.
    pub run: &'a RunProfile,
    /// The timings of paths, with the same functions as `run`, if paths were timed.
    pub variation: Option<&'a VariationRun>,
    /// The code to export.
    pub options: &'a Options<'a>,
}

/// The reason why a run cannot be exported.
#[derive(Debug)]
pub enum ExportError {
    /// The format shows paths, and edges were counted.
    NoPaths(Format),
    /// No function that the options select ran.
    NothingRan,
    /// The weight is time, and no path was timed.
    NoTimes,
    /// The format shows one function, and the options name none.
    NeedsFunction,
    /// The format shows one function, and the options select several.
    SeveralFunctions {
        /// The first of them.
        names: Vec<String>,
        /// The number of all of them.
        count: usize,
    },
    /// The file cannot be written.
    Io(io::Error),
}

impl fmt::Display for ExportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPaths(format) => write!(
                f,
                "{} shows paths, and edges were recorded: build with --collect paths, or export lcov, cobertura, callgrind, sample-profile, sarif, csv, parquet, dot, or json",
                format.name()
            ),
            Self::NothingRan => {
                f.write_str("no selected function ran: leave out the options that select code")
            }
            Self::NoTimes => f.write_str(
                "no times of paths were recorded: build with --collect variation, or leave out --weight time",
            ),
            Self::NeedsFunction => f.write_str(
                "dot draws the graph of one function: name it with --function; `holloway report --view functions` lists those that ran",
            ),
            Self::SeveralFunctions { names, count } => {
                let more = match count - names.len() {
                    0 => String::new(),
                    more => format!(", and {more} more"),
                };
                write!(
                    f,
                    "dot draws the graph of one function, and {count} match: {}{more}; use a longer pattern, such as --function '^NAME$'",
                    names.join(", ")
                )
            }
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ExportError {}

impl From<io::Error> for ExportError {
    fn from(error: io::Error) -> ExportError {
        ExportError::Io(error)
    }
}

impl ExportRun<'_> {
    /// The name of the run: the programs that ran.
    fn title(&self) -> String {
        let images = self.run.images.iter();
        let ran = images.filter(|image| !image.processes.is_empty());
        let names: Vec<&str> = ran.map(|image| &*image.name).collect();
        names.join(", ")
    }

    /// Checks that the run has what the format shows.
    fn check(&self, format: Format) -> Result<()> {
        let names = Filter::new(self.options);
        let mut ran = self.run.ids().filter(|(_, function)| function.ran());
        match format.content() {
            Content::Stacks if self.run.unit() == Unit::Edges => Err(ExportError::NoPaths(format)),
            Content::Stacks => {
                let has_paths = |id| names.paths(self.run, id) != Ranked::None;
                match ran.any(|(id, _)| has_paths(id)) {
                    true => Ok(()),
                    false => Err(ExportError::NothingRan),
                }
            }
            Content::Functions => match ran.any(|(id, _)| names.keeps(self.run, id)) {
                true => Ok(()),
                false => Err(ExportError::NothingRan),
            },
            Content::Coverage | Content::OneFunction => Ok(()),
        }
    }
}

/// Writes a run in a format. `weight` is the weight of folded stacks; other formats have all
/// weights.
///
/// # Errors
/// If the run has nothing that the format shows, or `out` cannot be written.
pub fn write(
    export: &ExportRun<'_>,
    format: Format,
    weight: Weight,
    out: &mut (dyn Write + Send),
) -> Result<()> {
    export.check(format)?;
    match format {
        Format::Speedscope => speedscope::write(&Stacks::new(export), &export.title(), out),
        Format::Pprof => pprof::write(export.run, &Stacks::new(export), out),
        Format::Firefox => firefox::write(&Stacks::new(export), &export.title(), out),
        Format::Folded => folded::write(&stacks_with(export, weight)?, weight, out),
        Format::Sarif => sarif::write(export, out),
        Format::Lcov => lcov::write(export, out),
        Format::Cobertura => cobertura::write(export, out),
        Format::Callgrind => callgrind::write(export, out),
        Format::SampleProfile => sample_profile::write(export, out),
        Format::Csv => csv::write(export, out),
        Format::Parquet => parquet::write(export, out),
        Format::Dot => dot::write(export, out),
        Format::Json => Ok(json::write(export.run, export.options, out)?),
    }
}

/// The stacks of a run that has this weight.
fn stacks_with(export: &ExportRun<'_>, weight: Weight) -> Result<Stacks> {
    let stacks = Stacks::new(export);
    match stacks.weights().contains(&weight) {
        true => Ok(stacks),
        false => Err(ExportError::NoTimes),
    }
}
