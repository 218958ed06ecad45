//! Options of `holloway export`.

use std::path::PathBuf;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum, ValueHint};
use holloway_report::export::{Format, Weight};

use super::view::{CodeArgs, FunctionChoice, parse_function};

pub(super) const EXAMPLES: &str = "\
Examples:
  holloway export --format speedscope -o run.speedscope.json
  holloway export --format folded runs/first | flamegraph.pl > paths.svg
  holloway export --format sarif -o paths.sarif --top 20
  holloway export --format lcov -o run.info && genhtml --branch-coverage run.info -o coverage
  holloway export --format dot --function '^parse_line$' | dot -Tsvg > parse_line.svg";

/// `holloway export`.
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// Directory of a run, one profile of it, or `latest` [default: as of `holloway report`]
    #[arg(value_name = "RUN", value_hint = ValueHint::AnyPath)]
    pub(crate) run: Option<PathBuf>,
    /// The format of the file
    #[arg(long, value_enum)]
    pub(crate) format: FormatArg,
    /// The file to write; `-` is stdout [default: stdout]
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// The number at the end of a folded stack [default: instructions]; other formats have all
    /// weights
    #[arg(long, value_enum)]
    pub(crate) weight: Option<WeightArg>,
    /// Number of paths to write; of sarif, number of results of each sort [default: all that ran;
    /// sarif: 10]
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<usize>,
    /// Write only functions whose name matches. `search#3fa2` is one path of a function
    #[arg(long, value_name = "REGEX", value_parser = parse_function)]
    pub(crate) function: Option<FunctionChoice>,
    /// Write only code of the workspace: leave out the standard library, system headers, and crates
    /// that cargo downloaded [default for lcov and cobertura]
    #[arg(long, conflicts_with = "all_code")]
    pub(crate) workspace: bool,
    /// The code to write.
    #[command(flatten)]
    pub(crate) code: CodeArgs,
}

/// `--format` of `holloway export`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FormatArg(pub(crate) Format);

impl ValueEnum for FormatArg {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [FormatArg; Format::ALL.len()] = {
            let mut all = [FormatArg(Format::Json); Format::ALL.len()];
            let mut index = 0;
            while index < all.len() {
                all[index] = FormatArg(Format::ALL[index]);
                index += 1;
            }
            all
        };
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.name()).help(self.0.help()))
    }
}

/// `--weight` of `holloway export`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WeightArg {
    /// How often the path ran × its instructions
    Instructions,
    /// How often the path ran
    Count,
    /// Nanoseconds, if paths were timed (--collect variation, times)
    Time,
}

impl From<WeightArg> for Weight {
    fn from(weight: WeightArg) -> Weight {
        match weight {
            WeightArg::Instructions => Weight::Instructions,
            WeightArg::Count => Weight::Count,
            WeightArg::Time => Weight::Time,
        }
    }
}
