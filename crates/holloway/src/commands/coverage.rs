//! `holloway coverage [RUN...]`: what ran, out of what there is, and what never did.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use holloway_abi::Kind;
use holloway_analysis::RunProfile;
use holloway_analysis::covered::Evidence;
use holloway_analysis::test_items::Goal;
use holloway_report::Options;
use holloway_report::notes::sentence;
use holloway_report::test_coverage::{Test, TestCoverage, has_code};

use crate::cli::coverage::{CoverageArgs, Keep};
use crate::cli::{CodeArgs, OutputFormat};
use crate::failure::{Failure, Result};
use crate::printing::{
    check_selection, code_filter, options, source, warn_of_changed_workspace, write_out,
};
use crate::{latest, loading, test_log};

/// Shows the coverage of the runs that the user names, or of the latest run.
///
/// # Errors
/// If there is no run, a run has only samples, no part can be read, or stdout cannot be written.
pub(crate) fn main(args: &CoverageArgs) -> Result<ExitCode> {
    let runs = match &args.runs[..] {
        [] => vec![latest::latest()?],
        runs => latest::distinct(runs)?,
    };
    if let Some(run) = runs.iter().find(|run| loading::has_samples(run)) {
        return Err(Failure::usage(format_args!(
            "{}: coverage needs counts, and this run has only samples: build with --collect paths, and use `holloway run`",
            run.display()
        )));
    }
    let paths: Vec<&Path> = runs.iter().map(PathBuf::as_path).collect();
    let loaded = loading::load_merged(&paths)?;
    refuse_sample(&loaded.profile)?;
    let has_sequences = loaded.kinds.iter().all(|(kind, _)| kind == Kind::Loops);
    let (loops, profile);
    let evidence = match has_sequences {
        true => {
            loops = loaded.into_loops();
            Evidence {
                run: &loops.run,
                loops: Some(&loops),
            }
        }
        false => {
            profile = loaded.profile;
            Evidence {
                run: &profile,
                loops: None,
            }
        }
    };
    let source = source();
    let code = CodeArgs {
        workspace: args.workspace,
        ..args.code.clone()
    };
    let options = Options {
        code: code_filter(&code),
        ..options(&args.list, &source)
    };
    check_selection(&[evidence.run], &options)?;
    if args.tests {
        return write_tests(args, &runs, evidence.run, &options);
    }
    let write = match args.list.style.format {
        OutputFormat::Text => holloway_report::terminal::covered::write,
        OutputFormat::Json => holloway_report::json::covered::write,
    };
    write_out(|out| write(evidence, &options, out))?;
    warn_of_changed_workspace(&[evidence.run], &options);
    Ok(ExitCode::SUCCESS)
}

/// Shows what each test covers.
fn write_tests(
    args: &CoverageArgs,
    runs: &[PathBuf],
    all: &RunProfile,
    options: &Options<'_>,
) -> Result<ExitCode> {
    if let Some(line) = args.line.as_ref().filter(|line| !has_code(all, line)) {
        return Err(Failure::usage(format_args!(
            "{}:{} has no code in this program; `holloway report --view lines` shows the lines that have",
            line.file, line.line
        )));
    }
    let goal = match args.keep {
        Keep::Paths => Goal::Paths,
        Keep::Lines => Goal::Lines,
    };
    let mut coverage = TestCoverage::new(goal);
    for (test, files) in tests(runs)? {
        if files.is_empty() {
            // A test that runs no woven code covers nothing.
            coverage.add(
                test,
                &RunProfile::new(Vec::new()),
                options,
                args.line.as_ref(),
            );
            continue;
        }
        let files: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
        let loaded = loading::load_merged(&files)?;
        refuse_sample(&loaded.profile)?;
        coverage.add(test, &loaded.profile, options, args.line.as_ref());
    }
    if coverage.tests.len() < 2 {
        return Err(Failure::usage(
            "--tests needs several tests: record each by itself with `cargo holloway test --per-test`, or name several runs",
        ));
    }
    let place = match (&args.line, &options.path) {
        (Some(line), _) => Some(format!("{}:{}", line.file, line.line)),
        (None, Some(path)) => Some(format!("{}{}", path.function, path.prefix)),
        (None, None) => None,
    };
    let place = place.as_deref();
    write_out(|out| match args.list.style.format {
        OutputFormat::Text => {
            holloway_report::terminal::test_coverage::write(all, &coverage, place, options, out)
        }
        OutputFormat::Json => holloway_report::json::test_coverage::write(&coverage, place, out),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The tests of the runs, with the files or directories of their profiles. A run whose tests did
/// not run by themselves is one test.
fn tests(runs: &[PathBuf]) -> Result<Vec<(Test, Vec<PathBuf>)>> {
    let mut tests = Vec::new();
    for run in runs {
        match test_log::read(run)? {
            Some(logged) => {
                for test in &logged {
                    let profiles = test_log::profiles(run, test)?;
                    let named = Test {
                        name: test.name(),
                        function: test.test.clone(),
                        passed: Some(test.passed),
                    };
                    tests.push((named, profiles));
                }
            }
            None => {
                let name = run.file_name().unwrap_or(run.as_os_str());
                let name = name.to_string_lossy().into_owned();
                let function = String::new();
                let passed = None;
                tests.push((
                    Test {
                        name,
                        function,
                        passed,
                    },
                    vec![run.clone()],
                ));
            }
        }
    }
    number_equal_names(&mut tests);
    Ok(tests)
}

/// Distinguishes tests of equal names by numbers, in their order: doctests have no names.
fn number_equal_names(tests: &mut [(Test, Vec<PathBuf>)]) {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for (test, _) in tests.iter() {
        *counts.entry(test.name.clone()).or_default() += 1;
    }
    let mut numbers: BTreeMap<String, u64> = BTreeMap::new();
    for (test, _) in tests.iter_mut().filter(|(test, _)| counts[&test.name] > 1) {
        let number = numbers.entry(test.name.clone()).or_default();
        *number += 1;
        test.name = format!("{} {number}", test.name);
    }
}

/// Refuses counts that are estimates: code without samples would look like code that never ran.
fn refuse_sample(run: &RunProfile) -> Result<()> {
    match run.damage.iter().find(|note| note.sample().is_some()) {
        None => Ok(()),
        Some(note) => Err(Failure::usage(format_args!(
            "coverage needs counts of the whole run, and {}: build with --collect paths",
            sentence(note)
        ))),
    }
}
