//! Options of `holloway graph`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use holloway_report::PathChoice;

use super::view::{ColorWhen, PlaceArgs};

pub(super) const EXAMPLES: &str = "\
Examples:
  holloway graph parse_line                        the latest run, the hottest path marked
  holloway graph parse_line runs/first --path 12
  holloway graph parse_line#3fa2                   a path by its short name
  holloway graph init --file src/net.c             one of several functions named init
  holloway graph parse_line --numbering            values, chords, and increments
  holloway graph parse_line --dot | dot -Tsvg > parse_line.svg";

/// `holloway graph`.
#[derive(Debug, Args)]
pub(crate) struct GraphArgs {
    /// Name of the function, or its end after a `::`, or a regex. `search#3fa2` marks one path
    #[arg(value_name = "FUNCTION")]
    pub(crate) function: String,
    /// Directory of a run, one profile of it, or `latest` [default: as of `holloway report`]
    #[arg(value_name = "RUN", value_hint = ValueHint::AnyPath)]
    pub(crate) run: Option<PathBuf>,
    /// Show what each edge adds to the number of a path: its value, and the increment if the edge
    /// is a chord, where the program counts
    #[arg(long, conflicts_with = "dot")]
    pub(crate) numbering: bool,
    /// The path to mark: its number or its short name, as in p12 or #3fa2 [default: the hottest;
    /// with --dot, none]
    #[arg(long, value_name = "N", value_parser = parse_path)]
    pub(crate) path: Option<PathArg>,
    /// Also show the blocks and edges that never ran
    #[arg(long, conflicts_with = "dot")]
    pub(crate) all: bool,
    /// Write the graph for Graphviz, as `holloway export --format dot` does
    #[arg(long)]
    pub(crate) dot: bool,
    /// The choice among functions of one name.
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    /// Colors and styles
    #[arg(long, value_enum, default_value_t = ColorWhen::Auto, conflicts_with = "dot")]
    pub(crate) color: ColorWhen,
}

/// `--path`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PathArg {
    /// By its number.
    Number(u64),
    /// By its short name: `#3fa2`.
    Name(String),
}

/// Parses the number or the short name of a path.
fn parse_path(text: &str) -> Result<PathArg, String> {
    if let Ok(number) = text.strip_prefix('p').unwrap_or(text).parse() {
        return Ok(PathArg::Number(number));
    }
    // A name without its function: any function makes it complete.
    match PathChoice::parse(&format!("f{text}")) {
        Some(_) if text.starts_with('#') => Ok(PathArg::Name(text.to_owned())),
        _ => Err("give a path's number or short name, as in p12 or #3fa2".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::{PathArg, parse_path};

    #[test]
    fn paths_have_numbers_and_names() {
        assert_eq!(parse_path("12"), Ok(PathArg::Number(12)));
        assert_eq!(parse_path("p12"), Ok(PathArg::Number(12)));
        let name = PathArg::Name("#3fa2".to_owned());
        assert_eq!(parse_path("#3fa2"), Ok(name));
        for text in ["", "p", "3fa2", "f#3fa2", "-1", "#"] {
            assert!(parse_path(text).is_err(), "{text}");
        }
    }
}
