//! Options of `holloway tui`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::view::{CodeArgs, ColorWhen};

pub(super) const EXAMPLES: &str = "\
Examples:
  holloway tui                                     the latest run
  holloway tui runs/first --crate my_crate

Keys: / search, arrows move and step along a path, [ and ] choose a path, o overview, ? all keys,
q leave.";

/// `holloway tui`.
#[derive(Debug, Args)]
pub(crate) struct TuiArgs {
    /// Directory of a run, one profile of it, or `latest` [default: as of `holloway report`]
    #[arg(value_name = "RUN", value_hint = ValueHint::AnyPath)]
    pub(crate) run: Option<PathBuf>,
    /// The code to show.
    #[command(flatten)]
    pub(crate) code: CodeArgs,
    /// Colors and styles
    #[arg(long, value_enum, default_value_t = ColorWhen::Auto)]
    pub(crate) color: ColorWhen,
}
