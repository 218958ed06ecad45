//! Programs of tests/planted: what varies in each is known, and must rank first, each time, with bursts as they are by default.
//!
//! Each has two controls besides: a loop that takes long on every turn alike (`steady`), and one whose turns take a few cycles (`tiny`). Neither must rank, though by
//! count or by total time it would. What is planted takes a second in all, far more than one odd sample of another path stands for; who else uses the machine only makes
//! it longer.

use crate::view::{Row, View, view};
use anyhow::{Context, Result, ensure};
use holloway_tests::tool::{holloway_command, installed, run_ok, scratch, tests_directory};
use std::path::{Path, PathBuf};

/// Times that each is run.
const RUNS: usize = 10;

/// Times its base that most turns of the slow control take at most: other programs use the same caches and the same core.
const STEADY: f64 = 1.3;

/// Times the clock's resolution that nine in ten turns of the quick control are apart at most: base and time may each be off by it.
const ALIKE: f64 = 2.0;

#[test]
fn a_list_that_fits_the_cache_at_times_ranks_first() {
    check("chase", "chase").unwrap();
}

#[test]
fn branches_that_are_guessed_wrong_at_times_rank_first() {
    check("phases", "classify").unwrap();
}

#[test]
fn a_lock_that_is_held_at_times_ranks_first() {
    check("lock", "deposits").unwrap();
}

#[test]
fn a_system_call_that_blocks_at_times_ranks_first() {
    check("blocks", "polls").unwrap();
}

#[test]
fn what_takes_as_long_each_time_does_not_rank() {
    let scratch = scratch("planted-control").unwrap();
    let program = build("control", scratch.path()).unwrap();
    for run in 0..RUNS {
        let view = record(&program, scratch.path(), run).unwrap();
        controls_hold(&view).unwrap_or_else(|error| panic!("run {run}: {error}"));
    }
}

/// Builds, runs and reads; the path of `planted` must be first each time.
fn check(name: &str, planted: &str) -> Result<()> {
    let scratch = scratch(&format!("planted-{name}"))?;
    let program = build(name, scratch.path())?;
    for run in 0..RUNS {
        let view = record(&program, scratch.path(), run)?;
        let first = view.rows.first().context("nothing was timed")?;
        let shown = || {
            let rows = &view.rows[..view.rows.len().min(4)];
            format!("run {run} of {name}: {rows:#?}")
        };
        ensure!(first.path.0 == planted, "{}", shown());
        ensure!(first.samples > 10 && first.mean > first.base, "{}", shown());
        controls_hold(&view).with_context(shown)?;
    }
    Ok(())
}

/// Neither control varies, most of the time.
fn controls_hold(view: &View) -> Result<()> {
    let steady = control(view, "steady")?;
    ensure!(steady.p50 < STEADY * steady.base, "{steady:?}");
    let tiny = control(view, "tiny")?;
    ensure!(
        tiny.p90 - tiny.base <= ALIKE * view.resolution,
        "{tiny:?}, {} cycles",
        view.resolution
    );
    Ok(())
}

/// A control's turn.
fn control<'a>(view: &'a View, name: &str) -> Result<&'a Row> {
    let rows = view.rows.iter().filter(|row| row.path.0 == name);
    let turn = rows.max_by_key(|row| row.samples);
    turn.with_context(|| format!("{name} was not timed"))
}

fn build(name: &str, folder: &Path) -> Result<PathBuf> {
    let source = tests_directory().join(format!("planted/{name}.c"));
    let program = folder.join(name);
    let mut command = holloway_command(["cc", "--collect", "variation", "-O2", "-g", "-pthread"]);
    command.arg(source).arg("-o").arg(&program);
    command.env("HOLLOWAY_CLANG", installed("clang-22")?);
    // The threads that only get into the way.
    command.env("HOLLOWAY_SKIP", "^other_");
    run_ok(&mut command)?;
    Ok(program)
}

fn record(program: &Path, folder: &Path, run: usize) -> Result<View> {
    let data = folder.join(format!("run-{run}"));
    let mut command = holloway_command(["run", "--no-report", "-o"]);
    run_ok(command.arg(&data).arg("--").arg(program))?;
    view(&data)
}
