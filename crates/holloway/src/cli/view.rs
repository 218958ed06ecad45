//! Options of reports: the view, the list, and the format.

use clap::{Args, ValueEnum};
use holloway_report::PathChoice;

/// Options of a report.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Report")]
pub(crate) struct ViewArgs {
    /// Order of paths, functions, blocks, and edges [default: instructions]
    #[arg(long, value_enum)]
    pub(crate) sort: Option<SortKey>,
    /// What to list, or several of them: functions,branches [default: the collected kind; for a
    /// trace, its statistics and hot subpaths]
    #[arg(long = "view", value_enum, value_name = "VIEW", value_delimiter = ',')]
    pub(crate) views: Vec<View>,
    /// The view that is printed now.
    #[arg(skip)]
    pub(crate) view: Option<View>,
    /// Show the code that never ran: functions, lines, ways of branches, and paths, merged over all
    /// processes and programs of the run
    #[arg(long, conflicts_with_all = ["views", "sort"])]
    pub(crate) uncovered: bool,
    /// Hide sequences of the loops view that are rarer than this share of their first path's
    /// executions [default: 10%]
    #[arg(long, value_name = "PERCENT", value_parser = parse_share)]
    pub(crate) min_share: Option<u64>,
    /// Also show, in the loops view, figures about the forests: nodes, degrees, look-ups
    #[arg(long)]
    pub(crate) stats: bool,
    /// The code to show.
    #[command(flatten)]
    pub(crate) code: CodeArgs,
    /// The times to rank.
    #[command(flatten)]
    pub(crate) times: TimesArgs,
    /// The list.
    #[command(flatten)]
    pub(crate) list: ListArgs,
}

impl ViewArgs {
    /// The same options for each of the views.
    ///
    /// # Errors
    /// If the views cannot be printed together.
    pub(crate) fn each_view(&self) -> Result<Vec<Self>, &'static str> {
        if self.views.len() > 1 {
            if self.list.style.format == OutputFormat::Json {
                return Err("--format json writes one document: ask for one view");
            }
            let has_page = |view: &View| matches!(view, View::Loops | View::Variation);
            if self.views.iter().any(has_page) {
                return Err("loops and variation are reports of their own: ask for one view");
            }
        }
        let with = |view| Self {
            view,
            ..self.clone()
        };
        Ok(match self.views.is_empty() {
            true => vec![with(None)],
            false => self.views.iter().map(|&view| with(Some(view))).collect(),
        })
    }

    /// The default report, with this list.
    pub(crate) fn plain(list: ListArgs) -> Self {
        Self {
            sort: None,
            views: Vec::new(),
            view: None,
            uncovered: false,
            min_share: None,
            stats: false,
            code: CodeArgs::default(),
            times: TimesArgs::default(),
            list,
        }
    }
}

/// The code that a report shows.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Report")]
pub(crate) struct CodeArgs {
    /// Show only code of this crate (of C: of this object file); may be repeated
    #[arg(long = "crate", value_name = "NAME")]
    pub(crate) crates: Vec<String>,
    /// Show only code of files that match: `main.rs`, `src/*.c`, `memchr-*/**`; `!tests/**` leaves
    /// files out; may be repeated. With --view lines, the files are shown whole
    #[arg(long = "file", value_name = "GLOB")]
    pub(crate) files: Vec<String>,
    /// Also show, in the lines view, the standard library, system headers, and crates that cargo
    /// downloaded. In JSON: also the functions that never ran
    #[arg(long)]
    pub(crate) all_code: bool,
    /// `--workspace` of `holloway report`. Verbs of cargo give this option to cargo.
    #[arg(skip)]
    pub(crate) workspace: bool,
}

impl CodeArgs {
    /// Whether the options restrict the code.
    pub(crate) fn is_given(&self) -> bool {
        self.workspace || !self.crates.is_empty() || !self.files.is_empty()
    }
}

/// The choice among functions of one name.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct PlaceArgs {
    /// Choose the function of this crate (of C: of this object file); may be repeated
    #[arg(long = "crate", value_name = "NAME")]
    pub(crate) crates: Vec<String>,
    /// Choose the function of a file that matches: `main.rs`, `src/*.c`; may be repeated
    #[arg(long = "file", value_name = "GLOB")]
    pub(crate) files: Vec<String>,
}

/// The choice of the times that are ranked.
#[derive(Debug, Clone, Copy, Default, Args)]
#[command(next_help_heading = "Report (variation)")]
pub(crate) struct TimesArgs {
    /// Whether a path's time includes the functions that it calls [default: inclusive]
    #[arg(long, value_name = "WHICH", value_enum)]
    pub(crate) time: Option<TimeOf>,
    /// Include samples in which the thread was preempted or moved to another processor; such times
    /// say nothing about the code
    #[arg(long)]
    pub(crate) include_preempted: bool,
}

/// `--time`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum TimeOf {
    /// The time from the path's beginning to its end
    #[default]
    Inclusive,
    /// Without the instrumented code that it called, where this was timed too (--collect times:
    /// always)
    Exclusive,
}

/// `--function`.
#[derive(Debug, Clone)]
pub(crate) struct FunctionChoice {
    /// Matches the names of the functions.
    pub(crate) regex: regex::Regex,
    /// The path to show, if the user named one.
    pub(crate) path: Option<PathChoice>,
}

/// Options of a list.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Report")]
pub(crate) struct ListArgs {
    /// Number of rows to show [default: 10; JSON: all that ran]
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<usize>,
    /// Show only functions whose name matches; a report also says which of them were inlined or
    /// skipped. `search#3fa2` shows one path of a function by its short name
    #[arg(long, value_name = "REGEX", value_parser = parse_function)]
    pub(crate) function: Option<FunctionChoice>,
    /// The output.
    #[command(flatten)]
    pub(crate) style: StyleArgs,
}

/// Format and colors of an answer.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct StyleArgs {
    /// Text for people, JSON (schema 1) for programs
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub(crate) format: OutputFormat,
    /// Colors and styles
    #[arg(long, value_enum, default_value_t = ColorWhen::Auto)]
    pub(crate) color: ColorWhen,
}

/// `--sort`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SortKey {
    /// How often the path ran
    Count,
    /// How often the path ran × its instructions
    Instructions,
    /// Functions only: samples of CPU time
    Time,
}

/// `--view`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum View {
    /// The hottest paths
    Paths,
    /// The hottest functions
    Functions,
    /// The hottest branches, each way
    Edges,
    /// The branches that are hardest to predict, with their expected mispredictions
    Branches,
    /// The hottest blocks of code
    Blocks,
    /// The hottest source lines
    Lines,
    /// Which paths follow one another over iterations of loops, and how often (--collect loops)
    Loops,
    /// Which paths are usually fast but sometimes slow, and what that costs (--collect variation,
    /// times)
    Variation,
    /// The paths that an edge profile would predict, compared with the paths that ran
    PathsFromEdges,
}

/// `--format` of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// For people
    Text,
    /// For programs
    Json,
}

/// `--color`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorWhen {
    /// When stdout is a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Parses a share in percent. Returns thousandths.
fn parse_share(text: &str) -> Result<u64, String> {
    let percent: Option<f64> = text.strip_suffix('%').unwrap_or(text).parse().ok();
    let percent = percent.filter(|percent| (0.0..=100.0).contains(percent));
    percent
        .map(|percent| (percent * 10.0).round() as u64)
        .ok_or_else(|| "give a share from 0% to 100%, as in 10%".to_owned())
}

/// Parses `--function`: the short name of a path, or a regex.
pub(crate) fn parse_function(text: &str) -> Result<FunctionChoice, String> {
    if let Some(path) = PathChoice::parse(text) {
        return Ok(FunctionChoice {
            regex: path.functions(),
            path: Some(path),
        });
    }
    let regex = regex::Regex::new(text).map_err(|error| last_line(&error))?;
    Ok(FunctionChoice { regex, path: None })
}

/// The message of a regex error. The regex crate puts a drawing above the message, so the message
/// is the last line.
pub(crate) fn last_line(error: &regex::Error) -> String {
    let text = error.to_string();
    text.lines()
        .last()
        .unwrap_or(&text)
        .trim_start_matches("error: ")
        .to_owned()
}
