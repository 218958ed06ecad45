//! A run to export, and the reasons why it cannot be exported.

use std::fmt;
use std::io;

use holloway_abi::Unit;
use holloway_analysis::RunProfile;
use holloway_analysis::paths::Ranked;
use holloway_analysis::variation::VariationRun;

use super::format::{Content, Format};
use crate::filter::Filter;
use crate::one_function::SeveralFunctions;
use crate::options::Options;

/// The program that wrote a file.
pub(super) const EXPORTER: &str = concat!("holloway ", env!("CARGO_PKG_VERSION"));

pub(super) type Result<T> = std::result::Result<T, ExportError>;

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
    SeveralFunctions(SeveralFunctions),
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
                "dot draws one function: choose it with --function REGEX; `holloway report --view functions` lists the functions that ran",
            ),
            Self::SeveralFunctions(several) => write!(f, "dot draws one function: {several}"),
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
    pub(super) fn title(&self) -> String {
        let images = self.run.images.iter();
        let ran = images.filter(|image| !image.processes.is_empty());
        let names: Vec<&str> = ran.map(|image| &*image.name).collect();
        names.join(", ")
    }

    /// Checks that the run has what the format shows.
    pub(super) fn check(&self, format: Format) -> Result<()> {
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

/// A name for a format of lines: control characters become spaces.
pub(super) fn one_line(name: &str) -> String {
    name.replace(char::is_control, " ")
}
