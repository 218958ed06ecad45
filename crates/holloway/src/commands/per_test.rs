//! `cargo holloway test --per-test`: runs each test of a test program in a process of its own, so
//! that each has profiles of its own.
//!
//! Cargo calls holloway's runner for each test program. The runner has the program list its tests
//! (`--list --format terse`) and then calls it once for each, with `--exact NAME`. A program with
//! another harness lists no tests. It runs once, as one test, and so does a doctest.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use holloway_collect::error::RunError;
use holloway_collect::files::profiles;
use holloway_collect::{child, run_directory};

use crate::failure::{Context as _, Failure, Result};
use crate::test_log::{self, DOCTEST, LoggedTest};

/// The exit code of a test program with failed tests, as Rust's harness ends.
const TESTS_FAILED: u8 = 101;

/// Runs the tests of a program: its words with the words of the user's runner before it. `program`
/// is the index of the program in `words`. `prepare` sets the environment of a call.
///
/// # Errors
/// If the program cannot be run, or the log cannot be written.
pub(crate) fn run(
    words: &[OsString],
    program: usize,
    directory: &Path,
    prepare: &dyn Fn(&mut Command),
) -> Result<ExitCode> {
    let (before, args) = words.split_at(program + 1);
    let command = |args: &[OsString]| {
        let mut command = Command::new(&before[0]);
        command.args(&before[1..]).args(args);
        prepare(&mut command);
        command
    };
    let command: &dyn Fn(&[OsString]) -> Command = &command;
    let name = Path::new(&words[program]).file_name().unwrap_or_default();
    let program_name = name.to_string_lossy().into_owned();
    let tests = match name == DOCTEST {
        true => None,
        false => list(command, args)?,
    };
    let Some(tests) = tests else {
        let mut command = command(args);
        let test = run_one(&mut command, &program_name, "", directory)?;
        return Ok(exit_code(test.passed));
    };
    let args = without_filters(args);
    let (mut passed, mut failed) = (0u64, Vec::new());
    for test in &tests {
        let mut command = command(&args);
        command.args(["--exact", test]);
        let logged = run_one(&mut command, &program_name, test, directory)?;
        match logged.passed {
            true => passed += 1,
            false => failed.push(test),
        }
    }
    let mut out = std::io::stdout();
    let outcome = match failed.is_empty() {
        true => "ok",
        false => "FAILED",
    };
    // Stdout may be closed. The exit code still reports the result.
    writeln!(
        out,
        "\ntest result: {outcome}. {passed} passed; {} failed; each in a process of its own\n",
        failed.len()
    )
    .ok();
    Ok(exit_code(failed.is_empty()))
}

fn exit_code(passed: bool) -> ExitCode {
    match passed {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(TESTS_FAILED),
    }
}

/// The tests that the program would run with these arguments. `None` if it lists no tests in the
/// way of Rust's harness.
fn list(
    command: &dyn Fn(&[OsString]) -> Command,
    args: &[OsString],
) -> Result<Option<Vec<String>>> {
    let Some(all) = list_with(command, args, None)? else {
        return Ok(None);
    };
    let runs_ignored = args
        .iter()
        .any(|arg| arg == "--ignored" || arg == "--include-ignored");
    if runs_ignored {
        return Ok(Some(all));
    }
    let ignored = list_with(command, args, Some("--ignored"))?.unwrap_or_default();
    let ignored: HashSet<String> = ignored.into_iter().collect();
    let tests = all.into_iter().filter(|test| !ignored.contains(test));
    Ok(Some(tests.collect()))
}

fn list_with(
    command: &dyn Fn(&[OsString]) -> Command,
    args: &[OsString],
    option: Option<&str>,
) -> Result<Option<Vec<String>>> {
    // The profile of a process that only lists tests belongs to no test.
    let discarded = tempfile::tempdir().cannot(|| "make a temporary directory".to_owned())?;
    let mut command = command(&without_format(args));
    command
        .args(["--list", "--format", "terse"])
        .args(option)
        .env(run_directory::DATA, discarded.path())
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    let output = command
        .output()
        .map_err(|error| Failure::cannot_run(command.get_program(), &error))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let entry = |line: &str| -> Option<Option<String>> {
        match line.rsplit_once(": ")? {
            (test, "test") => Some(Some(test.to_owned())),
            (_, "benchmark") => Some(None),
            _ => None,
        }
    };
    let entries: Option<Vec<Option<String>>> = text.lines().map(entry).collect();
    let entries = entries.filter(|_| output.status.success());
    Ok(entries.map(|entries| entries.into_iter().flatten().collect()))
}

/// Runs one test, prints its result, and logs it. The output of a test that passes is not shown, as
/// by Rust's harness.
fn run_one(
    command: &mut Command,
    program: &str,
    test: &str,
    directory: &Path,
) -> Result<LoggedTest> {
    let known: HashSet<_> = profiles(directory)?.into_iter().collect();
    let mut output = tempfile::tempfile().cannot(|| "make a temporary file".to_owned())?;
    let handle = || {
        let handle = output.try_clone();
        handle.cannot(|| "open a temporary file".to_owned())
    };
    command.stdout(handle()?).stderr(handle()?);
    let end = child::run(command).map_err(|error| match error {
        RunError::Start(error) => Failure::cannot_run(command.get_program(), &error),
        RunError::Wait(_) => Failure::new(error),
    })?;
    if let Some(interrupt) = end.interrupt {
        return Err(Failure::new(format_args!(
            "the tests were interrupted by {}",
            interrupt.name()
        )));
    }
    let new = profiles(directory)?.into_iter();
    let new = new.filter(|profile| !known.contains(profile));
    let names = new.filter_map(|profile| Some(profile.file_name()?.to_str()?.to_owned()));
    let logged = LoggedTest {
        program: program.to_owned(),
        test: test.to_owned(),
        passed: end.status.success(),
        profiles: names.collect(),
    };
    test_log::append(directory, &logged)?;
    let result = match logged.passed {
        true => "ok",
        false => "FAILED",
    };
    let shown = if test.is_empty() { program } else { test };
    let mut out = std::io::stdout();
    writeln!(out, "test {shown} ... {result}").ok();
    if !logged.passed {
        let mut text = Vec::new();
        let read = output.rewind().and_then(|()| output.read_to_end(&mut text));
        read.cannot(|| "read the output of a test".to_owned())?;
        out.write_all(&text).ok();
    }
    Ok(logged)
}

/// Options of Rust's harness that take a value.
const WITH_VALUE: [&str; 7] = [
    "--test-threads",
    "--skip",
    "--logfile",
    "--color",
    "--format",
    "--shuffle-seed",
    "-Z",
];

/// The arguments without the filters, which chose the tests already, and without options that the
/// call for one test adds or that contradict it.
fn without_filters(args: &[OsString]) -> Vec<OsString> {
    let mut kept = Vec::new();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let takes_value = WITH_VALUE.iter().any(|option| arg == option);
        let value = takes_value.then(|| args.next()).flatten();
        let is_filter = !arg.as_encoded_bytes().starts_with(b"-");
        if is_filter || arg == "--exact" || arg == "--skip" {
            continue;
        }
        kept.push(arg.clone());
        kept.extend(value.cloned());
    }
    kept
}

/// The arguments without the options for the output.
fn without_format(args: &[OsString]) -> Vec<OsString> {
    let mut kept = Vec::new();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        if arg == "--format" {
            args.next();
        } else if ![OsStr::new("-q"), OsStr::new("--quiet")].contains(&arg.as_os_str())
            && !arg.as_encoded_bytes().starts_with(b"--format=")
        {
            kept.push(arg.clone());
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn filters_are_left_out_and_options_stay() {
        let check = |args: &str, expect: &str| {
            assert_eq!(without_filters(&words(args)), words(expect), "{args}");
        };
        check("parse --exact", "");
        check(
            "--test-threads 1 parse --nocapture",
            "--test-threads 1 --nocapture",
        );
        check("--skip slow --color=never", "--color=never");
        check("--ignored", "--ignored");
    }

    #[test]
    fn the_format_of_the_list_is_ours() {
        let check = |args: &str, expect: &str| {
            assert_eq!(without_format(&words(args)), words(expect), "{args}");
        };
        check("parse -q --format pretty --exact", "parse --exact");
        check("--format=json --skip a", "--skip a");
    }
}
