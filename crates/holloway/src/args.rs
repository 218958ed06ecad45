//! The command line as data: help, man pages, shell completions and parsing all come from these types.
//!
//! Two trees share their option groups: [`Holloway`] (`holloway …`) and [`CargoHolloway`] (`cargo holloway …`, whose
//! verbs hand everything that is not listed here to cargo; see `split.rs`).

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use holloway_weave::{Collect, Pattern};

const EXIT_CODES: &str = "\
Exit codes:
  the profiled program's own, 128+n when signal n killed it
  2    usage error
  101  cargo's own: the build failed
  125  holloway itself failed
  126  the program cannot be run
  127  the program was not found";

/// Path profiler for native programs: which paths does your code really take?
#[derive(Debug, Parser)]
#[command(name = "holloway", version, arg_required_else_help = true, after_help = examples_and_exit_codes())]
pub(crate) struct Holloway {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Examples and exit codes below `holloway --help`.
fn examples_and_exit_codes() -> String {
    format!(
        "Examples:\n  cargo holloway run --release -- ARGS     profile a cargo project\n  \
         holloway cc -O2 a.c b.c -o app           build a C program (or CC=\"holloway cc\" CXX=\"holloway c++\")\n  \
         holloway run -- ./app ARGS               run it and see its hottest paths\n  \
         holloway report                          see them again\n  \
         holloway demo                            see it all on a small bundled program\n\n{EXIT_CODES}"
    )
}

/// `holloway COMMAND`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a woven program and report its hottest paths
    #[command(after_help = RUN_EXAMPLES)]
    Run(RunArgs),
    /// Report a run's hottest paths: the latest run's by default
    #[command(after_help = REPORT_EXAMPLES)]
    Report(ReportArgs),
    /// Build a small bundled Rust program, profile it and show the report
    Demo(DemoArgs),
    /// Compile or link C with probes: clang's own options, ours first
    #[command(disable_help_flag = true, after_help = CC_EXAMPLES)]
    Cc(CompilerArgs),
    /// Compile or link C++ with probes: clang++'s own options, ours first
    #[command(name = "c++", disable_help_flag = true, after_help = CC_EXAMPLES)]
    Cxx(CompilerArgs),
    /// Link with probes: takes an ld command line (for builds that call ld themselves)
    #[command(disable_help_flag = true)]
    Ld(CompilerArgs),
    /// Say what was found on this machine, and what to do about what was not
    Doctor,
    /// Print the environment that makes another build system weave, and the settings in force
    #[command(after_help = SHOW_ENV_EXAMPLES)]
    ShowEnv(ShowEnvArgs),
    /// Delete what holloway has built; recorded runs only when asked by name
    #[command(after_help = CLEAN_EXAMPLES)]
    Clean(CleanArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
    /// Print holloway's man page, or write one for each command into a directory
    Man(ManArgs),
}

const RUN_EXAMPLES: &str = "\
Examples:
  holloway run -- ./app input.txt
  holloway run -o runs/first --top 20 -- ./app input.txt";

const REPORT_EXAMPLES: &str = "\
Examples:
  holloway report                                  the latest run
  holloway report target/holloway/runs/latest --top 50
  holloway report --function 'parse_.*' --view lines
  holloway report --format json > paths.json";

const CC_EXAMPLES: &str = "\
Examples:
  holloway cc -O2 a.c b.c -o app
  holloway cc --collect paths -O2 a.c -o app
  CC=\"holloway cc\" CXX=\"holloway c++\" ./configure && make";

const SHOW_ENV_EXAMPLES: &str = "\
Examples:
  eval \"$(holloway show-env)\"
  holloway show-env --format json";

const CLEAN_EXAMPLES: &str = "\
Examples:
  holloway clean --dry-run      say what would go
  holloway clean                builds and cache; runs stay
  holloway clean --runs         recorded runs, nothing else";

/// Options of the cargo verbs that choose what is woven.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Weaving")]
pub(crate) struct WeaveArgs {
    /// Kind of profile to collect: paths
    #[arg(long, value_name = "KIND", env = "HOLLOWAY_COLLECT", value_parser = parse_collect)]
    pub(crate) collect: Option<String>,
    /// Weave the standard library's functions too
    #[arg(long)]
    pub(crate) std: bool,
    /// Weave only these: a crate's name, a function's name, or a regular expression over function names
    #[arg(long, value_name = "PAT", value_parser = parse_pattern)]
    pub(crate) only: Vec<String>,
    /// Leave these out: a crate's name, a function's name, or a regular expression over function names
    #[arg(long, value_name = "PAT", value_parser = parse_pattern)]
    pub(crate) skip: Vec<String>,
}

/// Where a run's data goes and whether it is reported at once.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Run")]
pub(crate) struct OutputArgs {
    /// Directory for the run's data [default: $HOLLOWAY_DATA, else target/holloway/runs/TIME-NAME]
    #[arg(short = 'o', long = "output", value_name = "RUN", value_hint = ValueHint::DirPath)]
    pub(crate) output: Option<PathBuf>,
    /// Record only; see it later with `holloway report`
    #[arg(long)]
    pub(crate) no_report: bool,
}

/// How a report looks.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Report")]
pub(crate) struct ViewArgs {
    /// How many to show [default: 10; JSON: all]
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<usize>,
    /// Show only functions whose name matches, and say where each of them went
    #[arg(long, value_name = "REGEX", value_parser = parse_regex)]
    pub(crate) function: Option<regex::Regex>,
    /// Order of paths and functions
    #[arg(long, value_enum, default_value_t = SortKey::Count)]
    pub(crate) sort: SortKey,
    /// What to list
    #[arg(long, value_enum, default_value_t = View::Paths)]
    pub(crate) view: View,
    /// Text for people, JSON (schema 1) for programs
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub(crate) format: OutputFormat,
    /// Colours and styles
    #[arg(long, value_enum, default_value_t = ColorWhen::Auto)]
    pub(crate) color: ColorWhen,
}

/// `--sort`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SortKey {
    /// Times the path ran
    Count,
    /// Times it ran × its instructions
    Instructions,
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
    /// The hottest source lines
    Lines,
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

/// `holloway run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Where the data goes.
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// How the report looks.
    #[command(flatten)]
    pub(crate) view: ViewArgs,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM", value_hint = ValueHint::CommandWithArguments)]
    pub(crate) program: Vec<OsString>,
}

/// `holloway report`.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Directory of a run, or one profile of it [default: $HOLLOWAY_DATA, else the latest run of the project around the current directory]
    #[arg(value_name = "RUN", value_hint = ValueHint::AnyPath)]
    pub(crate) run: Option<PathBuf>,
    /// How the report looks.
    #[command(flatten)]
    pub(crate) view: ViewArgs,
}

/// `holloway demo`.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Put the program, its build and its profile into DIR and leave them there
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) keep: Option<PathBuf>,
    /// How the report looks.
    #[command(flatten)]
    pub(crate) view: ViewArgs,
}

/// `holloway cc`, `holloway c++`, `holloway ld`: everything is the compiler's.
#[derive(Debug, Args)]
pub(crate) struct CompilerArgs {
    /// `--collect KIND` first if wanted, then the compiler's own options
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGS"
    )]
    pub(crate) args: Vec<OsString>,
}

/// `holloway show-env`.
#[derive(Debug, Args)]
pub(crate) struct ShowEnvArgs {
    /// Lines for a shell, or JSON
    #[arg(long, value_enum, default_value_t = EnvFormat::Shell)]
    pub(crate) format: EnvFormat,
}

/// `--format` of `show-env`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EnvFormat {
    /// `export NAME=value` lines
    Shell,
    /// One JSON object
    Json,
}

/// `holloway clean`.
#[derive(Debug, Args)]
pub(crate) struct CleanArgs {
    /// Delete recorded runs (alone: only them)
    #[arg(long)]
    pub(crate) runs: bool,
    /// Delete the cache of woven modules (alone: only it)
    #[arg(long)]
    pub(crate) cache: bool,
    /// Delete builds, cache and recorded runs
    #[arg(long)]
    pub(crate) all: bool,
    /// Say what would be deleted, delete nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Cargo's target directory [default: that of the project around the current directory]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) target_dir: Option<PathBuf>,
}

/// `holloway completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

/// `holloway man`.
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Write a page for each command here instead of printing holloway's own
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) directory: Option<PathBuf>,
}

/// Build, test, bench or run a cargo project with path probes woven in
#[derive(Debug, Parser)]
#[command(name = "cargo holloway", bin_name = "cargo holloway", version, arg_required_else_help = true, after_help = CARGO_EXAMPLES)]
pub(crate) struct CargoHolloway {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: CargoCommand,
}

const CARGO_EXAMPLES: &str = "\
Every other option is cargo's own and goes to cargo unchanged:
-p, --bin, --example, --test, --features, --profile, --release, --target, --manifest-path, …

Examples:
  cargo holloway run --release -- ARGS
  cargo holloway run --release --only my_crate --top 20 -- ARGS
  cargo holloway test -p my_crate --no-report
  cargo +nightly holloway bench --bench parse
  cargo holloway report --view lines";

/// `cargo holloway COMMAND`.
#[derive(Debug, Subcommand)]
pub(crate) enum CargoCommand {
    /// Run a binary or example and report its hottest paths: `cargo run` with probes
    #[command(after_help = CARGO_EXAMPLES, override_usage = "cargo holloway run [CARGO OPTIONS] [OPTIONS] [-- ARGS]")]
    Run(CargoArgs),
    /// Build only: `cargo build` with probes
    #[command(after_help = CARGO_EXAMPLES, override_usage = "cargo holloway build [CARGO OPTIONS] [OPTIONS]")]
    Build(CargoArgs),
    /// Run the tests, doctests too, and report: `cargo test` with probes
    #[command(after_help = CARGO_EXAMPLES, override_usage = "cargo holloway test [CARGO OPTIONS] [OPTIONS] [TESTNAME] [-- ARGS]")]
    Test(CargoArgs),
    /// Run the benches and report: `cargo bench` with probes
    #[command(after_help = CARGO_EXAMPLES, override_usage = "cargo holloway bench [CARGO OPTIONS] [OPTIONS] [BENCHNAME] [-- ARGS]")]
    Bench(CargoArgs),
    /// Report a run's hottest paths: the latest run's by default
    #[command(after_help = REPORT_EXAMPLES)]
    Report(ReportArgs),
    /// Say what was found on this machine, and what to do about what was not
    Doctor,
    /// Delete what holloway has built; recorded runs only when asked by name
    #[command(after_help = CLEAN_EXAMPLES)]
    Clean(CleanArgs),
}

/// Our options of a cargo verb; the rest is cargo's.
#[derive(Debug, Clone, Args)]
pub(crate) struct CargoArgs {
    /// What is woven.
    #[command(flatten)]
    pub(crate) weave: WeaveArgs,
    /// Where the data goes.
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// How the report looks.
    #[command(flatten)]
    pub(crate) view: ViewArgs,
}

fn parse_collect(text: &str) -> Result<String, String> {
    text.parse::<Collect>().map(|kind| kind.to_string())
}

fn parse_pattern(text: &str) -> Result<String, String> {
    if text.contains('\n') {
        return Err("a pattern is one line".to_owned());
    }
    if text.trim().is_empty() {
        return Err("an empty pattern chooses nothing".to_owned());
    }
    Pattern::parse(text).map(|pattern| pattern.text().to_owned())
}

fn parse_regex(text: &str) -> Result<regex::Regex, String> {
    regex::Regex::new(text).map_err(|error| last_line(&error))
}

/// The regex crate draws a picture above its message: the message is the last line.
fn last_line(error: &regex::Error) -> String {
    let text = error.to_string();
    text.lines()
        .last()
        .unwrap_or(&text)
        .trim_start_matches("error: ")
        .to_owned()
}
