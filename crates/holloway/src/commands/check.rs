//! `holloway check BUDGET`: checks a run against limits, for CI.

mod budget;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use holloway_abi::Kind;
use holloway_analysis::RunProfile;
use holloway_analysis::loops::LoopsRun;
use holloway_analysis::variation::VariationRun;
use holloway_report::budget::{self as report, Limit, Results, Runs};
use holloway_report::notes::sentence;

use crate::cli::check::{CheckArgs, CheckFormat};
use crate::failure::{BROKEN_LIMIT, Failure, Result};
use crate::printing::{source, unfiltered, write_out};
use crate::{latest, loading, output_file};

/// Checks a run, and writes the results before it fails.
///
/// # Errors
/// If the limits or the runs cannot be read, a run does not have a figure, or the results cannot be
/// written.
pub(crate) fn main(args: &CheckArgs) -> Result<ExitCode> {
    if let Some(file) = &args.junit {
        refuse_junit(file, &args.budget)?;
    }
    let limits = budget::read(&args.budget)?;
    let run = match &args.run {
        Some(run) => latest::resolve(run)?,
        None => latest::latest()?,
    };
    let checked = Loaded::read(&run)?;
    let baseline = args.baseline.as_deref().map(latest::resolve).transpose()?;
    let baseline: Option<RunProfile> = baseline.map(|run| loading::load(&run)).transpose()?;
    let runs = Runs {
        run: checked.profile(),
        times: checked.times(),
        loops: checked.loops(),
        baseline: baseline.as_ref(),
    };
    refuse_damage(&run, checked.profile())?;
    if let (Some(run), Some(profile)) = (&args.baseline, &baseline) {
        refuse_damage(run, profile)?;
    }
    let source = source();
    let options = unfiltered(None, crate::cli::ColorWhen::Never, &source);
    let check = |limit: &Limit| {
        report::check(limit, runs, &options).map_err(|error| {
            let (file, line) = (args.budget.display(), limit.line);
            Failure::usage(format_args!("{file}:{line}: {error}"))
        })
    };
    let results = Results {
        budget: args.budget.display().to_string(),
        run: run.display().to_string(),
        checked: limits.iter().map(check).collect::<Result<_>>()?,
    };
    if let Some(file) = &args.junit {
        write_junit(&results, file)?;
    }
    write_out(|out| match args.format {
        CheckFormat::Text => report::text(&results, out),
        CheckFormat::Json => report::json(&results, out),
        CheckFormat::Github => report::annotations(&results, options.cwd.as_deref(), out),
    })?;
    Ok(match results.broken() {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::from(BROKEN_LIMIT),
    })
}

/// Refuses a run that lacks counts: limits would be kept because something is missing.
///
/// # Errors
/// If the run is refused.
fn refuse_damage(run: &Path, profile: &RunProfile) -> Result<()> {
    let mut damage = profile.damage.iter();
    match damage.find(|note| note.sample().is_none()) {
        Some(note) => Err(Failure::new(format_args!(
            "limits need a whole run, and {} is not whole: {}; record it again",
            run.display(),
            sentence(note)
        ))),
        None => Ok(()),
    }
}

/// Refuses files that the JUnit report must not replace or join.
///
/// # Errors
/// If the file is the budget, or standard output, which has the results.
fn refuse_junit(file: &Path, budget: &Path) -> Result<()> {
    let is_stdout = output_file::is_stdout(file) || file == Path::new("/dev/stdout");
    let same = |a: std::io::Result<PathBuf>, b: std::io::Result<PathBuf>| match (a, b) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    };
    if is_stdout || same(file.canonicalize(), budget.canonicalize()) {
        return Err(Failure::usage(format_args!(
            "--junit {} would replace the {}: name another file",
            file.display(),
            if is_stdout { "results" } else { "budget" }
        )));
    }
    Ok(())
}

fn write_junit(results: &Results, file: &Path) -> Result<()> {
    let mut bytes = Vec::new();
    report::junit(results, &mut bytes).map_err(Failure::new)?;
    output_file::write_bytes(file, &bytes)
}

/// A run to check.
enum Loaded {
    /// It has counts.
    Counts(Box<RunProfile>),
    /// It has counts and times of paths.
    Times(Box<VariationRun>),
    /// It has counts and sequences of paths.
    Loops(Box<LoopsRun>),
}

impl Loaded {
    fn read(run: &Path) -> Result<Self> {
        let loaded = loading::load_with_streams(run)?;
        let has_sequences = loaded.kinds.iter().all(|(kind, _)| kind == Kind::Loops);
        Ok(match loaded.kinds.is_timed() {
            true => Self::Times(Box::new(loaded.into_variation())),
            false if has_sequences => Self::Loops(Box::new(loaded.into_loops())),
            false => Self::Counts(Box::new(loaded.profile)),
        })
    }

    fn profile(&self) -> &RunProfile {
        match self {
            Self::Counts(profile) => profile,
            Self::Times(run) => &run.run,
            Self::Loops(run) => &run.run,
        }
    }

    fn times(&self) -> Option<&VariationRun> {
        match self {
            Self::Counts(_) | Self::Loops(_) => None,
            Self::Times(run) => Some(run),
        }
    }

    fn loops(&self) -> Option<&LoopsRun> {
        match self {
            Self::Counts(_) | Self::Times(_) => None,
            Self::Loops(run) => Some(run),
        }
    }
}
