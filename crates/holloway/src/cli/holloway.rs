//! `holloway …`: its commands and their options.

use std::ffi::OsString;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};

use holloway_abi::environment::VARIABLES;

use super::annotate::{self, AnnotateArgs};
use super::check::{self, CheckArgs};
use super::coverage::{self, CoverageArgs};
use super::export::{self, ExportArgs};
use super::graph::{self, GraphArgs};
use super::optimize::{self, OptimizeArgs, PlanArgs};
use super::phases::{self, PhasesArgs};
use super::predict::{self, PredictArgs};
use super::stream::{OutputArgs, StreamArgs};
use super::trace::{self, TraceArgs};
use super::tui::{self, TuiArgs};
use super::view::{FunctionChoice, ListArgs, StyleArgs, TimesArgs, ViewArgs, parse_function};
use super::weave::CountArgs;

const EXIT_CODES: &str = "\
Exit codes:
  the exit code of the profiled program, or 128+n if signal n killed it
  1    diff: the counts differ; trace verify: the trace is not complete
  2    usage error
  3    check: a limit is broken
  101  cargo: the build failed (failed Rust tests and panics have this code, too)
  125  holloway itself failed
  126  the program cannot be run
  127  the program was not found";

/// Path profiler for native programs: which paths does your code really take?
#[derive(Debug, Parser)]
#[command(name = "holloway", version, arg_required_else_help = true, after_help = examples_and_exit_codes(), after_long_help = examples_environment_and_exit_codes())]
pub(crate) struct Holloway {
    /// The command.
    #[command(subcommand)]
    pub(crate) command: Command,
    /// The pager.
    #[command(flatten)]
    pub(crate) pager: PagerArgs,
}

/// The choice of a pager.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct PagerArgs {
    /// Never show a long answer in a pager (HOLLOWAY_PAGER)
    #[arg(long, global = true)]
    pub(crate) no_pager: bool,
}

/// The text below `holloway -h`.
fn examples_and_exit_codes() -> String {
    format!("{EXAMPLES}\n\n{EXIT_CODES}")
}

/// The text below `holloway --help`.
fn examples_environment_and_exit_codes() -> String {
    let variables = VARIABLES.map(|variable| {
        let assignment = format!("{}={}", variable.name, variable.value);
        format!("  {assignment:<28} {}\n", variable.help)
    });
    format!(
        "{EXAMPLES}\n\nEnvironment (`holloway show-env` shows the settings in force):\n{}\n{EXIT_CODES}",
        variables.concat()
    )
}

const EXAMPLES: &str = "\
Examples:
  cargo holloway run --release -- ARGS     profile a cargo project
  holloway cc -O2 a.c b.c -o app           build a C program (or CC=\"holloway cc\" CXX=\"holloway c++\")
  holloway run -- ./app ARGS               run the program and see its hottest paths
  holloway report                          see its hottest paths again
  holloway demo                            try holloway on a small bundled program";

/// `holloway COMMAND`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a woven program and report its hottest paths
    #[command(after_help = RUN_EXAMPLES)]
    Run(RunArgs),
    /// Sample the code that a program, a process, or the whole machine executes, and report where
    /// the time goes; needs no counters
    #[command(after_help = MONITOR_EXAMPLES)]
    Monitor(MonitorArgs),
    /// Import samples and branch records: a perf.data file, or BOLT's pre-aggregated text
    #[command(after_help = IMPORT_EXAMPLES)]
    Import(ImportArgs),
    /// Keep the profiles of watched programs in a store: add new runs, let old ones fade, and say
    /// what is worth optimizing again
    #[command(after_help = MANAGER_EXAMPLES)]
    Manager(ManagerArgs),
    /// Train a program on a command, build it again with the counts, and keep what measurably helps
    #[command(after_help = optimize::EXAMPLES)]
    Optimize(OptimizeArgs),
    /// Make, show, compare, and use plans: the counts by which programs are optimized
    #[command(after_help = optimize::PLAN_EXAMPLES)]
    Plan(PlanArgs),
    /// A question about recorded runs.
    #[command(flatten)]
    Runs(RunsCommand),
    /// Build a small bundled Rust program, profile it and show the report
    Demo(DemoArgs),
    /// Compile or link C with probes: takes clang's options, and holloway's
    #[command(disable_help_flag = true, after_help = CC_EXAMPLES)]
    Cc(CompilerArgs),
    /// Compile or link C++ with probes: takes clang++'s options, and holloway's
    #[command(name = "c++", disable_help_flag = true, after_help = CC_EXAMPLES)]
    Cxx(CompilerArgs),
    /// Link with probes: takes holloway's options, then an ld command line (for builds that call ld
    /// themselves)
    #[command(disable_help_flag = true)]
    Ld(CompilerArgs),
    /// Check this machine for all that holloway needs, and say how to add missing parts
    Doctor,
    /// Print the environment that makes another build system weave, and the settings in force
    #[command(after_help = SHOW_ENV_EXAMPLES)]
    ShowEnv(ShowEnvArgs),
    /// Delete holloway's builds and caches; recorded runs only with --runs or --all
    #[command(after_help = CLEAN_EXAMPLES)]
    Clean(CleanArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
    /// Print holloway's man page, or write one for each command into a directory
    Man(ManArgs),
}

/// The commands that answer questions about recorded runs. `cargo holloway` has them too.
#[derive(Debug, Subcommand)]
pub(crate) enum RunsCommand {
    /// Report a run's hottest paths: the latest run's by default
    #[command(after_help = REPORT_EXAMPLES)]
    Report(ReportArgs),
    /// Show the source of a whole function or file: counts, branch outcomes, and what never ran
    #[command(after_help = annotate::EXAMPLES)]
    Annotate(AnnotateArgs),
    /// Show the flow graph of a function: its blocks with loops kept together, counts, and a path
    #[command(after_help = graph::EXAMPLES)]
    Graph(GraphArgs),
    /// Browse a run in the terminal: functions, paths, and the source, with the keys of the page
    #[command(after_help = tui::EXAMPLES)]
    Tui(TuiArgs),
    /// Write a run as a file that other programs open: flame graphs, coverage, code flows, tables
    #[command(after_help = export::EXAMPLES)]
    Export(ExportArgs),
    /// Advise on changes of the source that may pay: where, why, and the most that each may save
    #[command(after_help = ADVISE_EXAMPLES)]
    Advise(AdviseArgs),
    /// Compare the counts of two runs: functions and paths that ran more or less often, and what
    /// that costs
    #[command(after_help = DIFF_EXAMPLES)]
    Diff(DiffArgs),
    /// Show what ran and what never did: functions, lines, branches, paths, and conditions (MC/DC)
    #[command(after_help = coverage::EXAMPLES)]
    Coverage(CoverageArgs),
    /// Compare how two runs divide their work: the paths (or edges) that both took, and the shares
    /// that differ most
    #[command(after_help = OVERLAP_EXAMPLES)]
    Overlap(OverlapArgs),
    /// Add up the counts of several runs of one build
    #[command(after_help = MERGE_EXAMPLES)]
    Merge(MergeArgs),
    /// Compare several runs in tables: how many paths edge counts would predict, and how many paths
    /// training runs take too
    #[command(after_help = SUITE_EXAMPLES)]
    Suite(SuiteArgs),
    /// Check a run against limits: counts, shares, coverage, variation, and what changed since an
    /// earlier run
    #[command(after_help = check::EXAMPLES)]
    Check(CheckArgs),
    /// Check whether the paths that vary most in one run (--collect variation) also do so in others
    #[command(after_help = STABILITY_EXAMPLES)]
    Stability(StabilityArgs),
    /// Answer questions about the trace of a program that was built with --collect trace
    #[command(after_help = trace::EXAMPLES)]
    Trace(TraceArgs),
    /// Find the phases of a run that was recorded with --collect trace: what is hot, and when
    #[command(after_help = phases::EXAMPLES)]
    Phases(Box<PhasesArgs>),
    /// Show the branches and paths that processors mispredict, in a run that was recorded with
    /// --collect trace
    #[command(after_help = predict::EXAMPLES)]
    Predict(PredictArgs),
}

impl RunsCommand {
    /// Whether the command prints text that people read from top to bottom.
    pub(crate) fn is_for_people(&self) -> bool {
        match self {
            Self::Report(_) | Self::Annotate(_) | Self::Graph(_) | Self::Advise(_) => true,
            Self::Diff(_) | Self::Overlap(_) | Self::Suite(_) | Self::Coverage(_) => true,
            Self::Stability(_) | Self::Trace(_) | Self::Phases(_) | Self::Predict(_) => true,
            // A file for other programs, a run, and a verdict for scripts.
            Self::Export(_) | Self::Merge(_) | Self::Check(_) => false,
            // It has the whole screen.
            Self::Tui(_) => false,
        }
    }
}

const RUN_EXAMPLES: &str = "\
Examples:
  holloway run -- ./app input.txt
  holloway run -o runs/first --top 20 -- ./app input.txt";

const MONITOR_EXAMPLES: &str = "\
Examples:
  holloway cc --collect none -O2 -g a.c -o app && holloway monitor -- ./app input.txt
  holloway monitor --pid 4711 --view lines
  sudo holloway monitor --system -o runs/day

Samples name blocks of programs that were built with --collect none, and functions and lines of all
others. They are time-based: they tell where the time goes, not how often code runs.";

const IMPORT_EXAMPLES: &str = "\
Examples:
  perf record -j any,u -- ./app && holloway import perf.data
  holloway import perf.data --view paths -o runs/day
  holloway import perf.data builds/app             the recorded program, if it has moved
  holloway import branches.txt ./app               BOLT's text: B, F, T, and S lines

Build programs with --collect none: then branch stacks (perf record -j any,u) show edges and paths.
They are sampled, not exact. Other samples show where the time goes, as `holloway monitor` does.";

const MANAGER_EXAMPLES: &str = "\
Examples:
  holloway monitor --no-report -- ./app && holloway manager
  holloway manager --store /var/lib/holloway/profiles --every 10m /var/lib/holloway/runs
  holloway report --view edges ~/.local/state/holloway/profiles

The store is a run of samples: report, overlap, and --guide read it. Its counts are time-based.
Programs must be built with --collect none.";

const REPORT_EXAMPLES: &str = "\
Examples:
  holloway report                                  the latest run
  holloway report target/holloway/runs/latest --top 50
  holloway report --function 'parse_.*' --view lines
  holloway report --workspace --view functions     without library code
  holloway report --uncovered                      what never ran
  holloway report --phase C --view lines           one phase of a trace
  holloway report --html report.html --open        a page for the browser
  holloway report --format json > paths.json";

const ADVISE_EXAMPLES: &str = "\
Examples:
  holloway advise                                  the latest run
  holloway advise runs/first --top 3 --function 'parse_.*'
  holloway cc --collect loops -O2 a.c -o app && holloway run --no-report -- ./app && holloway advise
  holloway advise --format json > advice.json

Counts of paths show most kinds of advice. Runs of --collect loops and variation show more.";

const DIFF_EXAMPLES: &str = "\
Examples:
  holloway diff runs/before runs/after
  holloway diff runs/before latest --function 'parse_.*' --top 20
  holloway diff runs/before runs/after --format json

The exit code is 0 if all counts are equal, and 1 if any differ. To fail only on large changes, use
`holloway check --baseline`. The builds may differ: functions are matched if they were moved or
renamed.";

const OVERLAP_EXAMPLES: &str = "\
Examples:
  holloway overlap runs/train runs/ref
  holloway overlap runs/train latest --function 'parse_.*' --top 20
  holloway overlap runs/train runs/ref --format json";

const MERGE_EXAMPLES: &str = "\
Examples:
  holloway merge -o runs/all runs/first runs/second
  holloway merge -o runs/tests runs/test-* && holloway report runs/tests

An existing run is never overwritten. `holloway diff` compares runs of different builds.";

const SUITE_EXAMPLES: &str = "\
Examples:
  holloway suite runs/reference/*
  holloway suite runs/reference/* --train runs/train     runs with the same names in runs/train
  holloway suite runs/reference/* --format json

The tables are those of Ball and Larus. The last row of each is the arithmetic mean.";

const STABILITY_EXAMPLES: &str = "\
Examples:
  holloway stability runs/small runs/large         the ten paths that vary most in either, in both
  holloway stability runs/* --top 20
  holloway stability runs/idle runs/loaded --format json";

const CC_EXAMPLES: &str = "\
Examples:
  holloway cc -O2 a.c b.c -o app
  holloway cc --collect edges -O2 a.c -o app
  holloway cc --guide latest -O2 a.c b.c -o app
  CC=\"holloway cc\" CXX=\"holloway c++\" ./configure && make

Holloway's options, anywhere before `--` (they take effect when a program is linked):
  --collect paths|edges|loops[=K]|trace|variation|times|none
                         kind of profile (HOLLOWAY_COLLECT)
  --exits on|off         count frames that are left early: by longjmp, unwinding, or the
                         end of the process; on by default (HOLLOWAY_EXITS)
  --graph source|optimized
                         profile the code before or after the optimizer; source is for
                         coverage, and must be given to compile, too (HOLLOWAY_GRAPH)
  --guide RUN            use the counts of an earlier run to place probes; paths may be cut
                         elsewhere (HOLLOWAY_GUIDE)
  --embed                no probes: the program carries its bitcode for `holloway optimize`;
                         give it when compiling, too (HOLLOWAY_EMBED)

Everything else is clang's: `clang --help` lists clang's options.";

const SHOW_ENV_EXAMPLES: &str = "\
Examples:
  eval \"$(holloway show-env)\"
  holloway show-env --format json";

pub(super) const CLEAN_EXAMPLES: &str = "\
Examples:
  holloway clean --dry-run      show what would be deleted
  holloway clean                builds and cache; runs stay
  holloway clean --runs         recorded runs, nothing else";

/// `holloway run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Accepted only for a helpful message: a program's kind is chosen when it is built.
    #[arg(long, value_name = "KIND", hide = true)]
    pub(crate) collect: Option<OsString>,
    /// The directory for the run's data.
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// The collection of streams.
    #[command(flatten)]
    pub(crate) stream: StreamArgs,
    /// The report.
    #[command(flatten)]
    pub(crate) view: ViewArgs,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM", value_hint = ValueHint::CommandWithArguments)]
    pub(crate) program: Vec<OsString>,
}

/// `holloway monitor`.
#[derive(Debug, Args)]
pub(crate) struct MonitorArgs {
    /// Watch all processes of the machine, until Ctrl-C
    #[arg(long, conflicts_with_all = ["pid", "program"])]
    pub(crate) system: bool,
    /// Watch a running process, its threads, and its child processes, until it ends or Ctrl-C
    #[arg(long, value_name = "PID", conflicts_with = "program", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) pid: Option<u32>,
    /// Samples per second of CPU time, on average: 1 to 10000 [default: 1024; with --system on
    /// machines without a counter of cycles, one in each tick of the kernel, or 256]
    #[arg(long, value_name = "HZ", value_parser = parse_frequency)]
    pub(crate) frequency: Option<NonZeroU64>,
    /// Also record the taken branches before each sample, on machines that can: they show edges and
    /// paths of programs that were built with --collect none
    #[arg(long)]
    pub(crate) branch_stacks: bool,
    /// The directory for the run's data.
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// The report.
    #[command(flatten)]
    pub(crate) view: ViewArgs,
    /// The program to run and watch, and its arguments
    #[arg(required_unless_present_any = ["system", "pid"], trailing_var_arg = true, value_name = "PROGRAM", value_hint = ValueHint::CommandWithArguments)]
    pub(crate) program: Vec<OsString>,
}

/// `holloway import`.
#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// A file of `perf record`, or BOLT's pre-aggregated text
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Recorded programs or libraries, if they are not where they were; for a text, its program
    #[arg(value_name = "PROGRAM", value_hint = ValueHint::FilePath)]
    pub(crate) programs: Vec<PathBuf>,
    /// The directory for the run's data.
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// The report.
    #[command(flatten)]
    pub(crate) view: ViewArgs,
}

/// `holloway manager`.
#[derive(Debug, Args)]
pub(crate) struct ManagerArgs {
    /// Directories of watched runs, or of several runs [default: target/holloway/runs]
    #[arg(value_name = "RUN", value_hint = ValueHint::DirPath)]
    pub(crate) runs: Vec<PathBuf>,
    /// The directory of the store [default: holloway/profiles in your state directory]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) store: Option<PathBuf>,
    /// Go on, and update the store each time that this time has passed (such as 10m), until Ctrl-C
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) every: Option<Duration>,
    /// Time in which the weight of a run halves
    #[arg(long, value_name = "TIME", default_value = "7d", value_parser = parse_time)]
    pub(crate) half_life: Duration,
    /// Maximum size of the store in MiB: programs that were sampled least recently are forgotten
    #[arg(long, value_name = "MIB", default_value = "256")]
    pub(crate) max_size: NonZeroU64,
    /// How runs are combined
    #[arg(long, value_enum, default_value_t = Combine::Sum)]
    pub(crate) combine: Combine,
    /// The format.
    #[command(flatten)]
    pub(crate) style: StyleArgs,
}

/// `--combine`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Combine {
    /// Add times: a long run counts more than a short one
    Sum,
    /// Each run counts the same
    Normalized,
    /// Each function of each run counts the same
    Poll,
}

/// Parses a time such as `10m`, `7d`, or `1h 30m`.
fn parse_time(text: &str) -> Result<Duration, String> {
    let span = text.parse::<jiff::Span>().ok();
    let time = span.and_then(|span| {
        let relative = jiff::SpanRelativeTo::days_are_24_hours();
        Duration::try_from(span.to_duration(relative).ok()?).ok()
    });
    time.filter(|time| !time.is_zero())
        .ok_or_else(|| "not a time such as 10m, 1h 30m, or 7d".to_owned())
}

/// Parses a number of samples per second. The kernel's timer takes at most 100,000.
fn parse_frequency(text: &str) -> Result<NonZeroU64, String> {
    let frequency = text.parse::<NonZeroU64>().ok();
    let frequency = frequency.filter(|frequency| frequency.get() <= 10_000);
    frequency.ok_or_else(|| "not a number from 1 to 10000".to_owned())
}

/// `holloway report`.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Directory of a run, one profile of it, or `latest` [default: $HOLLOWAY_DATA, else the latest
    /// run of the project or programs around the current directory, else your latest run]
    #[arg(value_name = "RUN", value_hint = ValueHint::AnyPath)]
    pub(crate) run: Option<PathBuf>,
    /// Show only code of the workspace: hide the standard library, system headers, and crates that
    /// cargo downloaded [default in the lines view]
    #[arg(long, help_heading = "Report", conflicts_with = "all_code")]
    pub(crate) workspace: bool,
    /// Show only one phase of the longest trace, by its letter in `holloway phases`
    #[arg(long, help_heading = "Report", value_name = "LETTER", value_parser = phases::parse_phase)]
    pub(crate) phase: Option<char>,
    /// Write the report as one HTML page, which needs no network: paths, graphs, and source
    #[arg(long, help_heading = "Report", value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["phase", "views", "uncovered", "sort", "min_share", "stats", "all_code", "top", "format"])]
    pub(crate) html: Option<PathBuf>,
    /// Compare the page's run with this run: a directory of a run, or one profile of it
    #[arg(long, help_heading = "Report", value_name = "RUN", value_hint = ValueHint::AnyPath, requires = "html")]
    pub(crate) baseline: Option<PathBuf>,
    /// Open the page of --html in a browser
    #[arg(long, help_heading = "Report", requires = "html")]
    pub(crate) open: bool,
    /// The report.
    #[command(flatten)]
    pub(crate) view: ViewArgs,
}

/// `holloway advise`.
#[derive(Debug, Args)]
pub(crate) struct AdviseArgs {
    /// Directory of a run, one profile of it, or `latest` [default: as of `holloway report`]
    #[arg(value_name = "RUN", value_hint = ValueHint::AnyPath)]
    pub(crate) run: Option<PathBuf>,
    /// The list.
    #[command(flatten)]
    pub(crate) list: ListArgs,
}

/// `holloway diff`.
#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// The earlier run: its directory, one profile of it, or `latest`
    #[arg(value_name = "A", value_hint = ValueHint::AnyPath)]
    pub(crate) first: PathBuf,
    /// The later run
    #[arg(value_name = "B", value_hint = ValueHint::AnyPath)]
    pub(crate) second: PathBuf,
    /// The list.
    #[command(flatten)]
    pub(crate) list: ListArgs,
}

/// `holloway merge`.
#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// Directory of the new run
    #[arg(short = 'o', long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) output: PathBuf,
    /// Directories of runs, or `latest`
    #[arg(required = true, value_name = "RUN", value_hint = ValueHint::DirPath)]
    pub(crate) runs: Vec<PathBuf>,
}

/// `holloway suite`.
#[derive(Debug, Args)]
pub(crate) struct SuiteArgs {
    /// Runs that counted paths
    #[arg(required = true, value_name = "RUN", value_hint = ValueHint::AnyPath)]
    pub(crate) runs: Vec<PathBuf>,
    /// Directory of training runs: for each run, one with the same name
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) train: Option<PathBuf>,
    /// Count only functions whose name matches
    #[arg(long, value_name = "REGEX", value_parser = parse_function)]
    pub(crate) function: Option<FunctionChoice>,
    /// The output.
    #[command(flatten)]
    pub(crate) style: StyleArgs,
}

/// `holloway overlap`.
#[derive(Debug, Args)]
pub(crate) struct OverlapArgs {
    /// The first run: its directory, one profile of it, or `latest`
    #[arg(value_name = "A", value_hint = ValueHint::AnyPath)]
    pub(crate) first: PathBuf,
    /// The second run
    #[arg(value_name = "B", value_hint = ValueHint::AnyPath)]
    pub(crate) second: PathBuf,
    /// The list.
    #[command(flatten)]
    pub(crate) list: ListArgs,
}

/// `holloway stability`.
#[derive(Debug, Args)]
pub(crate) struct StabilityArgs {
    /// Runs of one program, recorded with --collect variation or times; the first paths of each
    /// run are evaluated on all runs
    #[arg(value_name = "RUN", value_hint = ValueHint::AnyPath, num_args = 2.., required = true)]
    pub(crate) runs: Vec<PathBuf>,
    /// The times to rank.
    #[command(flatten)]
    pub(crate) times: TimesArgs,
    /// Number of first paths of each run [default: 10]
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<usize>,
    /// The output.
    #[command(flatten)]
    pub(crate) style: StyleArgs,
}

/// `holloway demo`.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Put the program, its build and its profile into DIR and leave them there
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) keep: Option<PathBuf>,
    /// The kind of profile.
    #[command(flatten)]
    pub(crate) count: CountArgs,
    /// The report.
    #[command(flatten)]
    pub(crate) view: ViewArgs,
}

/// `holloway cc`, `holloway c++`, `holloway ld`: clap passes all arguments on.
#[derive(Debug, Args)]
pub(crate) struct CompilerArgs {
    /// The compiler's options, and holloway's
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
    /// Show the files that would be deleted, but delete nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Cargo's target directory [default: the target directory of the project around the current
    /// directory]
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
    /// Write a page for each command into DIR instead of printing the page of holloway
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) directory: Option<PathBuf>,
}
