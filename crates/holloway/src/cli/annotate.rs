//! Options of `holloway annotate`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::view::{ColorWhen, PlaceArgs};

pub(super) const EXAMPLES: &str = "\
Examples:
  holloway annotate parse_line                     a function of the latest run
  holloway annotate src/parse.rs runs/first        a whole file
  holloway annotate 'src/*.c' | less -R
  holloway annotate 'Parser.*next'                 functions by a regex";

/// `holloway annotate`.
#[derive(Debug, Args)]
pub(crate) struct AnnotateArgs {
    /// Name of a function, or its end after a `::`; a file such as src/parse.rs or 'src/*.c'; or a
    /// regex for functions
    #[arg(value_name = "FUNCTION|FILE")]
    pub(crate) target: String,
    /// Directory of a run, one profile of it, or `latest` [default: as of `holloway report`]
    #[arg(value_name = "RUN", value_hint = ValueHint::AnyPath)]
    pub(crate) run: Option<PathBuf>,
    /// Number of functions or files to show [default: 10]
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<usize>,
    /// The choice among functions of one name.
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    /// Colors and styles
    #[arg(long, value_enum, default_value_t = ColorWhen::Auto)]
    pub(crate) color: ColorWhen,
}
